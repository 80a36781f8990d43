"""Azure AKS. The kubeconfig carries a client certificate, so it is enough by itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from function.sources.base import Provisioned, Source, credentials_ref, scaling

if TYPE_CHECKING:
    from function.reading import Block
    from function.spec import NodePool
    from function.structs import Plain

# What AKS takes as the name of a node pool.
_NAME = re.compile(r"[a-z][a-z0-9]{0,11}")


def _spec(aks: Block) -> dict[str, Plain]:
    return {
        "location": aks.text("location"),
        "kubernetesVersion": aks.text("kubernetesVersion", "1.34"),
        **credentials_ref(aks),
    }


def _pool(pool: NodePool, provisioning: Block) -> dict[str, Plain]:
    entry: dict[str, Plain] = {
        "name": pool.name,
        "role": "GPU",
        "vmSize": provisioning.text("vmSize"),
        "diskSizeGb": provisioning.whole("diskSizeGb", 100),
        **scaling(pool),
        "gpu": {"acceleratorType": provisioning.block("accelerator").text("type")},
    }
    if pool.zones:  # many GPU machines of Azure's are in no zone, and an empty list is refused
        entry["zones"] = list(pool.zones)
    if pool.fabric == "InfiniBand":  # which network it is cannot be chosen on Azure
        entry["fabric"] = "InfiniBand"
    return entry


def _unfit(pool: NodePool) -> str:
    fits = _NAME.fullmatch(pool.name) is not None
    return "" if fits else "needs a name of at most 12 small letters and digits that starts with a letter"


SOURCE = Source(
    name="AKS",
    provisioned=Provisioned(
        kind="AKSCluster",
        key="aks-cluster",
        usage_key="usage-aks-by-backend",
        block="aks",
        title="AKS",
        spec=_spec,
        pool=_pool,
        unfit=_unfit,
    ),
)

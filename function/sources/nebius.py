"""Nebius mk8s. The kubeconfig authenticates nobody: the providers log in as a Nebius service account.

Its key cannot be made by the cluster XR. It is the Secret that the Nebius provider itself uses, in whatever
namespace that one is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.sources.base import Provisioned, Source, credentials_ref, half_scaled, scaling

if TYPE_CHECKING:
    from function.reading import Block
    from function.spec import NodePool
    from function.structs import Plain


def _spec(nebius: Block) -> dict[str, Plain]:
    return {"kubernetesVersion": nebius.text("kubernetesVersion", "1.34"), **credentials_ref(nebius)}


def _pool(pool: NodePool, provisioning: Block) -> dict[str, Plain]:
    entry: dict[str, Plain] = {
        "name": pool.name,
        "role": "GPU",
        "platform": provisioning.text("platform"),
        "preset": provisioning.text("preset"),
        "diskSizeGb": provisioning.whole("diskSizeGb", 100),
        **scaling(pool),
        "gpu": {
            "acceleratorType": provisioning.block("accelerator").text("type"),
            "driversPreset": provisioning.text("driversPreset", "cuda13.0"),
        },
    }
    if pool.infiniband:
        entry["fabric"] = {"type": "InfiniBand", "infiniband": {"fabric": pool.infiniband}}
    return entry


def _unfit(pool: NodePool) -> str:
    if pool.fabric == "InfiniBand" and not pool.infiniband:
        return "needs fabric.infiniband beside fabric.type InfiniBand"
    return half_scaled(pool)


SOURCE = Source(
    name="Nebius",
    provisioned=Provisioned(
        kind="NebiusCluster",
        key="nebius-cluster",
        usage_key="usage-nebius-by-backend",
        block="nebius",
        title="Nebius",
        spec=_spec,
        pool=_pool,
        identity="NebiusServiceAccountCredentials",
        unfit=_unfit,
    ),
)

"""Vultr VKE. The kubeconfig carries client certificates, so it is enough by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.sources.base import Provisioned, Source, credentials_ref, half_scaled, scaling

if TYPE_CHECKING:
    from function.reading import Block
    from function.spec import NodePool
    from function.structs import Plain


def _spec(vultr: Block) -> dict[str, Plain]:
    return {
        "region": vultr.text("region"),
        "kubernetesVersion": vultr.text("kubernetesVersion", "v1.36.1+3"),
        **credentials_ref(vultr),
    }


def _pool(pool: NodePool, provisioning: Block) -> dict[str, Plain]:
    return {
        "name": pool.name,
        "role": "GPU",
        "plan": provisioning.text("plan"),
        **scaling(pool),
        "gpu": {"acceleratorType": provisioning.block("accelerator").text("type")},
    }


def _unfit(pool: NodePool) -> str:
    if not pool.node_count or pool.min_nodes == 0:
        return "needs at least one node"
    return half_scaled(pool)


SOURCE = Source(
    name="Vultr",
    provisioned=Provisioned(
        kind="VultrCluster",
        key="vultr-cluster",
        usage_key="usage-vultr-by-backend",
        block="vultr",
        title="Vultr",
        spec=_spec,
        pool=_pool,
        unfit=_unfit,
    ),
)

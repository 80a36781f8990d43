"""Amazon EKS. The kubeconfig carries a token that the AWS provider refreshes, so it is enough by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.sources.base import Provisioned, Source, credentials_ref, scaling, without_zones

if TYPE_CHECKING:
    from function.reading import Block
    from function.spec import NodePool
    from function.structs import Plain


def _spec(eks: Block) -> dict[str, Plain]:
    return {
        "region": eks.text("region"),
        "kubernetesVersion": eks.text("kubernetesVersion", "1.36"),
        **credentials_ref(eks),
    }


def _pool(pool: NodePool, provisioning: Block) -> dict[str, Plain]:
    entry: dict[str, Plain] = {
        "name": pool.name,
        "role": "GPU",
        "instanceType": provisioning.text("instanceType"),
        "diskSizeGb": provisioning.whole("diskSizeGb", 100),
        **scaling(pool),
        "gpu": {"acceleratorType": provisioning.block("accelerator").text("type")},
        "zones": list(pool.zones),
    }
    if pool.reservation:
        entry["capacityBlock"] = {"capacityReservationId": pool.reservation}
    if pool.fabric == "EFA":
        entry["fabric"] = "EFA"
    return entry


SOURCE = Source(
    name="EKS",
    provisioned=Provisioned(
        kind="EKSCluster",
        key="eks-cluster",
        usage_key="usage-eks-by-backend",
        block="eks",
        title="EKS",
        spec=_spec,
        pool=_pool,
        unfit=without_zones,
    ),
)

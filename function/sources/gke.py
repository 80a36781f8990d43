"""Google GKE. The kubeconfig authenticates nobody: the providers log in as a Google service account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.sources.base import Provisioned, Source, credentials_ref, scaling, without_zones

if TYPE_CHECKING:
    from function.reading import Block
    from function.spec import NodePool
    from function.structs import Plain


def _spec(gke: Block) -> dict[str, Plain]:
    return {
        "region": gke.text("region"),
        "kubernetesVersion": gke.text("kubernetesVersion", "1.35"),
        **credentials_ref(gke),
    }


def _pool(pool: NodePool, provisioning: Block) -> dict[str, Plain]:
    accelerator = provisioning.block("accelerator")
    return {
        "name": pool.name,
        "role": "GPU",
        "machineType": provisioning.text("machineType"),
        "diskSizeGb": provisioning.whole("diskSizeGb", 100),
        **scaling(pool),
        "gpu": {"acceleratorType": accelerator.text("type"), "acceleratorCount": accelerator.whole("count")},
        "zones": list(pool.zones),
    }


SOURCE = Source(
    name="GKE",
    provisioned=Provisioned(
        kind="GKECluster",
        key="gke-cluster",
        usage_key="usage-gke-by-backend",
        block="gke",
        title="GKE",
        spec=_spec,
        pool=_pool,
        identity="GoogleApplicationCredentials",
        driver_root="/home/kubernetes/bin/nvidia",  # GKE installs NVIDIA's driver there, not below /
        unfit=without_zones,
    ),
)

"""The function under Modelplane's own definition of the InferenceCluster, which knows no services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.world import CLUSTER

if TYPE_CHECKING:
    from e2e.conftest import MakeWorld


def test_no_field_is_written_that_modelplane_does_not_declare(world: MakeWorld) -> None:
    """One undeclared status field fails every reconcile: the cluster is Synced, gets Ready and comes down."""
    it = world("peers")
    it.up("EKS")
    found = it.plane.api.get(*CLUSTER, it.name)
    assert "deletion" not in found["spec"]
    conditions = {c["type"]: c["status"] for c in found["status"]["conditions"]}
    assert conditions["Synced"] == "True"
    assert not {"ServicesReady", "Teardown"} & set(conditions)
    it.delete("Background")
    it.all_gone()
    it.assert_order(it.leaves, [it.eks, it.kubeconfig])

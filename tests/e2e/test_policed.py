"""With the admission policies installed only a foreground delete begins, and it ends in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from controlplane.kube import ApiError
from support.world import CLUSTER, EKS, STACK

if TYPE_CHECKING:
    from controlplane.kube import Propagation
    from e2e.conftest import MakeWorld


@pytest.mark.parametrize("propagation", ["Background", "Orphan"])
def test_refused_with_what_to_run_and_nothing_begins(world: MakeWorld, propagation: Propagation) -> None:
    """The message has the command; no attempt is recorded that could be replayed later."""
    it = world("policed")
    it.up("EKS")
    with pytest.raises(ApiError) as refusal:
        it.delete(propagation)
    assert f"kubectl delete inferenceclusters {it.name} --cascade=foreground" in str(refusal.value)
    for kind, ref in ((STACK, it.serving_stack), (EKS, it.eks)):
        with pytest.raises(ApiError, match="--cascade=foreground"):
            it.delete(propagation, ref, kind[0])
    found = it.plane.api.get(*CLUSTER, it.name)
    assert "deletionTimestamp" not in found["metadata"]
    assert not any("deletion-attempt" in key for key in found["metadata"].get("annotations", {}))
    it.delete("Foreground")
    it.all_gone()


@pytest.mark.parametrize("source", ["Local", "EKS"])
def test_foreground_passes_and_ends_in_order(world: MakeWorld, source: str) -> None:
    """Collector and replays pass the policies: nothing hangs."""
    it = world("policed")
    it.up(source)
    it.delete("Foreground")
    it.all_gone()
    it.assert_configs_outlive(it.leaves)
    it.assert_order([it.leaf("gateway")], [it.leaf("controller")])
    if source == "EKS":
        it.assert_order(it.leaves, [it.eks, it.kubeconfig])

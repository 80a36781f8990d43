"""An InferenceCluster stays while anybody uses it, also while a user's objects are still finalizing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.world import CLUSTER

if TYPE_CHECKING:
    from e2e.conftest import MakeWorld
    from support.world import World


def protection(it: World) -> tuple[str, str]:
    """Return status and message of the DeletionProtected condition."""
    conditions = it.plane.api.get(*CLUSTER, it.name)["status"]["conditions"]
    return next((c["status"], c.get("message", "")) for c in conditions if c["type"] == "DeletionProtected")


def guarded(it: World) -> bool:
    """Whether a Usage of the InferenceCluster is in force."""
    labels = it.plane.api.get(*CLUSTER, it.name)["metadata"].get("labels", {})
    return bool(labels.get("crossplane.io/in-use") == "true")


def protected(it: World) -> bool:
    """Wait until the condition says so and the Usage behind it is in force."""

    def holds() -> bool:
        return protection(it)[0] == "True" and guarded(it)

    return it.plane.wait(holds, "the cluster is protected", 60, pause=0.5)


@pytest.mark.parametrize("source", ["Local", "EKS"])
@pytest.mark.parametrize("composition", ["", "with-modelplane"])
def test_replicas_gone_their_objects_still_finalizing(
    world: MakeWorld, composition: str, source: str
) -> None:
    """The guard holds until the last Object is really gone; the refused delete is then carried out."""
    it = world()
    it.up(source, composition)
    workload, release = it.replica()
    assert protected(it)
    with pytest.raises(Exception, match="in-use by 1 usage"):
        it.delete("Foreground")
    it.delete_replica()
    it.plane.wait(lambda: "ModelReplica" not in protection(it)[1], "only its Object is left", 60, pause=0.5)
    assert workload.name in protection(it)[1]
    with pytest.raises(Exception, match="in-use by 1 usage"):
        it.delete("Foreground")
    release()
    it.all_gone()
    it.assert_order([workload], [it.cluster])


def test_an_unused_cluster_goes_at_once(world: MakeWorld) -> None:
    """No guard is composed for nobody."""
    it = world()
    it.up("Local")
    assert protection(it) == ("False", "")
    it.delete("Background")
    it.all_gone()

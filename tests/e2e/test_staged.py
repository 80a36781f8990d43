"""The staged teardown on real servers: a refused delete is carried out by the function, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from e2e.staging import STAGES, at_stage, named, refuse, stages
from support.world import CLUSTER

if TYPE_CHECKING:
    from e2e.conftest import MakeServing

ATTEMPT = "usage.crossplane.io/deletion-attempt-with-policy"


def test_three_services_one_of_them_stuck(serving: MakeServing) -> None:
    """Each stage only when everything of the one before is gone; the stuck one shows since when and why."""
    it = serving()
    it.up("a", "b", "c", mode="Staged")
    release = it.hold("b")
    hold_leaf = it.world.hold("settings")
    refuse(it)
    at_stage(it, "DrainingServices")
    it.world.gone(it.ref("a"))
    it.world.gone(it.ref("c"))
    name = f"LLMService {it.namespace}/{it.ref('b').name}, deleting since 20"

    def only_the_stuck_one() -> bool:
        waiting = it.teardown().get("waitingFor", [])
        return len(waiting) == 1 and waiting[0].startswith(name) and "RouteRemoving" in waiting[0]

    it.plane.wait(only_the_stuck_one, "only the stuck service is left", 60, pause=0.3)
    assert it.condition("Teardown")[:2] == ("True", "DrainingServices")
    assert [s["name"] for s in it.status()["services"]] == [it.ref("b").name]
    release()
    at_stage(it, "RemovingServingStack")
    it.world.gone(it.world.leaf("certificates"))
    leaf = it.world.leaf("settings")
    it.plane.wait(lambda: named(it, leaf.name), "the stuck leaf is named", 60, pause=0.3)
    hold_leaf()
    it.world.all_gone()
    assert stages(it)[: len(STAGES)] == STAGES
    services = [it.ref(name) for name in "abc"]
    it.world.assert_order([*services, *it.carriers()], [it.world.serving_stack], [it.world.eks])
    it.world.assert_order(it.world.leaves, [it.world.serving_stack], [it.world.eks], [it.world.cluster])


def test_waiting_for_users_can_be_cancelled(serving: MakeServing) -> None:
    """While somebody uses the cluster nothing is dropped, and taking the attempt off ends it."""
    it = serving()
    it.world.create("EKS", "with-modelplane", {"deletion": {"mode": "Staged"}})
    it.world.ready()
    _, release = it.world.replica()
    it.plane.wait(lambda: it.condition("DeletionProtected")[0] == "True", "it is protected", 60, pause=0.5)
    refuse(it)
    at_stage(it, "WaitingForUsers")
    assert named(it, "ModelReplica")
    it.patch({"metadata": {"annotations": {ATTEMPT: None}}})
    it.plane.wait(lambda: "teardown" not in it.status(), "the teardown is cancelled", 60, pause=0.5)
    assert it.condition("Teardown")[:2] == ("False", "NotRequested")
    assert it.world.exists(it.world.cluster, CLUSTER[0])
    assert not [r for r in it.world.timeline.gone_order() if r.kind in ("ServingStack", "EKSCluster")]
    refuse(it)
    release()
    it.world.delete_replica()
    it.world.all_gone()
    assert stages(it)[-len(STAGES) :] == STAGES

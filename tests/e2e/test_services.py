"""LLMServices on an InferenceCluster: deleting it takes them down first, in their own stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from e2e.serving import SERVICE
from support.world import EKS, OBJECT, RELEASE, STACK

if TYPE_CHECKING:
    from controlplane.kube import Propagation
    from e2e.conftest import MakeServing
    from e2e.serving import Serving


LEAVES = {"Object": OBJECT[0], "Release": RELEASE[0]}


def assert_services_first(it: Serving, *names: str) -> None:
    """Assert routes, services, their Objects, then stack and leaves, then the cluster went."""
    world = it.world
    for name in names:
        world.assert_order([it.route(name)], [it.ref(name)])
    services = [it.ref(name) for name in names]
    world.assert_order([*services, *it.carriers()], [world.serving_stack])
    world.assert_order([*it.carriers(), *world.leaves], [world.eks, world.kubeconfig])


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_a_delete_takes_the_services_down_first(serving: MakeServing, propagation: Propagation) -> None:
    """Stack and cluster wait for a service whose route is slow, whatever the propagation."""
    it = serving()
    it.up("a", "b")
    release = it.hold("a")
    it.world.delete(propagation)
    it.world.gone(it.ref("b"))

    def stage() -> str:
        status = it.plane.api.get(*SERVICE, it.ref("a").name, it.namespace)["status"]
        return str(status.get("deletion", {}).get("stage"))

    it.plane.wait(lambda: stage() == "RouteRemoving", "its route does not go", 60)
    for leaf in it.world.leaves:
        assert it.world.exists(leaf, LEAVES[leaf.kind])
    assert it.world.exists(it.world.serving_stack, STACK[0])
    assert it.world.exists(it.world.eks, EKS[0])
    release()
    it.world.all_gone()
    assert_services_first(it, "a", "b")


def test_a_removed_service_goes_in_stages_while_the_others_run(serving: MakeServing) -> None:
    """It stays in status.services with its stage until it is gone; nothing else is touched."""
    it = serving()
    it.up("a", "b")
    release = it.hold("a")
    it.patch({"spec": {"services": [it.entry("b")]}})

    def shown() -> dict[str, str]:
        entries = it.status().get("services", [])
        return {e["name"]: e.get("deletion", {}).get("stage", e["phase"]) for e in entries}

    names = {key: it.ref(key).name for key in "ab"}
    it.plane.wait(
        lambda: shown() == {names["a"]: "RouteRemoving", names["b"]: "Ready"},
        "its stage shows",
        60,
        pause=0.3,
    )
    assert it.usages_of_stack() == 2
    release()
    it.world.gone(it.ref("a"))
    it.plane.wait(lambda: shown() == {names["b"]: "Ready"}, "it left the status", 60, pause=0.3)
    it.plane.wait(lambda: it.usages_of_stack() == 1, "its Usage is gone", 60, pause=0.5)
    it.world.delete("Background")
    it.world.all_gone()
    world = it.world
    world.assert_order([it.ref("b")], [world.serving_stack])
    world.assert_order(it.carriers(), world.leaves, [world.eks, world.kubeconfig])

"""Whatever is killed in the middle resumes, and the order holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from e2e.staging import STAGES, at_stage, refuse, stages

if TYPE_CHECKING:
    from e2e.conftest import MakeServing, MakeWorld
    from e2e.serving import Serving

COMPONENTS = ["crossplane", "provider-kubernetes", "provider-helm", "function-inference-cluster"]


@pytest.mark.parametrize("component", COMPONENTS)
def test_killed_while_coming_down(world: MakeWorld, component: str) -> None:
    """It is killed while one leaf refuses to go, and comes back before that leaf may."""
    it = world("restarts")
    it.up("EKS")
    release = it.hold("settings")
    it.delete("Background")
    it.gone(it.leaf("certificates"))
    it.plane.kill(component)
    it.plane.restart(component)
    release()
    it.all_gone()
    it.assert_configs_outlive(it.leaves)
    it.assert_order(it.leaves, [it.eks, it.kubeconfig])


def test_function_killed_while_coming_up(world: MakeWorld) -> None:
    """What exists stays while the function is away, and the cluster gets ready after."""
    it = world("restarts")
    it.create("EKS")
    it.timeline.wait(lambda events: any(e.ref == it.serving_stack for e in events), "the stack exists", 120)
    it.plane.kill("function-inference-cluster")
    it.plane.restart("function-inference-cluster")
    it.ready()
    assert it.timeline.gone() == []
    it.delete("Foreground")
    it.all_gone()
    it.assert_order(it.leaves, [it.eks, it.kubeconfig])


def test_function_killed_at_every_stage_of_a_staged_teardown(serving: MakeServing) -> None:
    """It resumes where it was: stages only move forward, and nothing goes too early."""
    it = serving(plane="restarts")
    it.up("a", source="Local", mode="Staged")
    release = it.hold("a")
    refuse(it)
    at_stage(it, "DrainingServices")
    _restart(it)
    release()
    at_stage(it, "RemovingServingStack")
    _restart(it)
    it.world.all_gone()
    seen = stages(it)
    assert seen == [stage for stage in STAGES if stage in seen]
    it.world.assert_order([it.ref("a"), *it.carriers()], [it.world.serving_stack], [it.world.cluster])


def _restart(it: Serving) -> None:
    it.plane.kill("function-inference-cluster")
    it.plane.restart("function-inference-cluster")

"""A controller that is killed between any record and its action, and is started again.

Ends where it would have ended.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from controlplane.kube import wait_until
from operator_harness import audit
from operator_harness.cases import Run
from operator_harness.world import PATIENCE, World

INSTALL = ("acting:Install", "acted:Install")
TEARDOWN = (
    "recorded:RouteRemoving:RouteRemoving",
    "acting:DeleteRoutes",
    "acted:DeleteRoutes",
    "recorded:RouteSettling:RouteSettling",
    "recorded:Uninstalling:RouteSettling",
    "acting:Uninstall",
    "acted:Uninstall",
    "recorded:Uninstalling:Uninstalled",
    "recorded:PodsTerminating:WaitingForPods",
    "recorded:ForceDeleting:PodsForceDeleted",
    "acting:ForceDelete",
    "acted:ForceDelete",
    "recorded:Released:Released",
    "acting:DropFinalizer",
    "acted:DropFinalizer",
)
EVENTS = [
    "PodForceDeleted",
    "PodsForceDeleted",
    "Released",
    "RouteRemoving",
    "RouteSettling",
    "Uninstalled",
    "WaitingForPods",
]
CASE = {
    "id": "kill",
    "spec": {"deletion": {"routeSettle": "20s", "forceDeleteAfter": "20s"}},
    "pods": [{"name": "sable-0", "grace": 600}],
    "installed": False,
}


@pytest.mark.parametrize("point", [*INSTALL, *TEARDOWN])
def test_kill(point: str, operator_world: World, tmp_path: Path) -> None:
    """Same end state, each event once, nothing lost, nothing done twice to harm."""
    run = Run(operator_world, CASE, tmp_path)
    try:
        _install(run, point)
        if point in TEARDOWN:
            run.controller.stop()
            run.controller.start(LLM_OPERATOR_FAIL_POINT=point)
        run.step("delete", "pod/sable-0")
        run.step("delete", "service")
        expected = 1 if point in TEARDOWN else 0
        assert _drive(run, expected) == expected
        _check(run)
    finally:
        run.end()


def _install(run: Run, point: str) -> None:
    if point in TEARDOWN:
        run.set_up()
    else:
        run.set_up(LLM_OPERATOR_FAIL_POINT=point)
        run.controller.wait_dead()
        run.controller.start()
    run.step("wait", {"phase": "Ready"})


def _drive(run: Run, expected: int) -> int:
    """Move the clock on until the finalizer is off, starting the controller again when it died.

    Count the deaths; the last expected one may come a moment after the finalizer went.
    """
    deaths = 0

    def done() -> bool:
        nonlocal deaths
        if run.controller.dead:
            deaths += 1
            run.controller.start()
        run.controller.move_clock(3)
        return not run.held() and deaths >= expected

    wait_until(done, "the finalizer is off", PATIENCE, 0.2)
    if run.controller.dead:
        deaths += 1
        run.controller.start()
    return deaths


def _check(run: Run) -> None:
    run.step("wait", {"stage": "Released", "outcome": "PodsForceDeleted", "release_held": False})
    run.step("hold", {"held": False, "route_finalizers": None})
    wait_until(
        lambda: sorted(event["reason"] for event in run.events()) == EVENTS, f"each event once: {EVENTS}", 10
    )
    made = [str(call) for call in audit.changes(run.world.plane, run.namespace)]
    assert 1 <= made.count("controller delete modelroutes") <= 2
    assert 1 <= made.count("controller delete pods") <= 2
    assert 1 <= len(run.helm.runs("uninstall")) <= 2
    assert len(run.helm.runs("install")) == 1
    assert made.count("controller patch llmservices") == 2, "finalizer on, finalizer off"
    assert run.controller.complaints() == []


@dataclass(frozen=True)
class Way:
    """A way that does not end well: where to die on it, what makes it, and how it ends."""

    point: str
    case: dict[str, object]
    outcome: str
    events: tuple[str, ...]
    until: str | None = None
    """The stage in which the clock is moved past the deadline."""


WAYS = (
    Way(
        "recorded:Uninstalling:NoRoute",
        {"values": {"route": {"enabled": False}}},
        "NoRoute",
        ("NoRoute", "Released", "Uninstalled"),
    ),
    Way(
        "recorded:Uninstalling:RouteStuck",
        {"values": {"route": {"finalizers": ["example.test/route-controller"]}}},
        "RouteStuck",
        ("Released", "RouteRemoving", "RouteStuck", "Uninstalled"),
        until="RouteRemoving",
    ),
    Way(
        "recorded:Released:TimedOut",
        {"pods": [{"name": "sable-0"}]},
        "TimedOut",
        ("RouteRemoving", "RouteSettling", "TimedOut", "Uninstalled", "WaitingForPods"),
        until="PodsTerminating",
    ),
)


@pytest.mark.parametrize("way", WAYS, ids=[way.point for way in WAYS])
def test_kill_on_another_way(way: Way, operator_world: World, tmp_path: Path) -> None:
    """The same for what is recorded on the ways that do not end well."""
    case = {"id": "kill-way", "spec": {"deletion": {"routeSettle": "0s"}}, **way.case}
    run = Run(operator_world, case, tmp_path)

    def told() -> bool:
        return tuple(sorted(event["reason"] for event in run.events())) == way.events

    try:
        run.set_up()
        run.controller.stop()
        run.controller.start(LLM_OPERATOR_FAIL_POINT=way.point)
        run.step("delete", "service")
        if way.until:
            run.step("wait", {"stage": way.until})
            run.step("clock", "1h")
        assert _drive(run, 1) == 1
        run.step("wait", {"stage": "Released", "outcome": way.outcome, "release_held": False})
        wait_until(told, f"each event once: {way.events}", PATIENCE)
        assert len(run.helm.runs("uninstall")) == 1
        assert run.controller.complaints() == []
    finally:
        run.end()

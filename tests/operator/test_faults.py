"""An API server that is busy, slow, forgetful, contended or dead.

The controller waits it out, and no other suffers.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from controlplane.kube import wait_until
from operator_harness.cases import Run
from operator_harness.proxy import Fault, Proxy, proxied
from operator_harness.world import PATIENCE, World

CASE = {"spec": {"deletion": {"routeSettle": "0s"}}}
BUSY = {"kind": "Status", "code": 429, "message": "too many requests"}
EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


@contextmanager
def _running(
    world: World, folder: Path, name: str, *, lease: int = 60, **case: object
) -> Iterator[tuple[Run, Proxy]]:
    """Set a case up behind a proxy."""
    run = Run(world, {"id": name, **CASE, **case}, folder)
    run.controller.lease_seconds = lease
    with proxied(world.plane, folder) as proxy:
        run.controller.kubeconfig = proxy.kubeconfig
        try:
            run.set_up()
            yield run, proxy
        finally:
            run.end()


def test_busy(operator_world: World, tmp_path: Path) -> None:
    """429: the call is repeated after Retry-After, within the pass."""
    with _running(operator_world, tmp_path, "busy") as (run, proxy):
        headers = {"Retry-After": "1"}
        busy = [
            Fault("PATCH", "/status$", times=2, status=429, body=BUSY, headers=headers),
            Fault("DELETE", "/modelroutes/", times=1, status=429, body=BUSY, headers=headers),
        ]
        for fault in busy:
            proxy.add(fault)
        run.step("delete", "service")
        run.step("wait", {"held": False, "outcome": "Clean"})
        assert [fault.hits for fault in busy] == [2, 1]
        assert not [r for r in run.controller.records() if r["event"] == "pass failed"]


def test_contended(operator_world: World, tmp_path: Path) -> None:
    """409: the object is read again and decided again within the pass; no action runs without its record."""
    with _running(operator_world, tmp_path, "contended") as (run, proxy):
        fault = proxy.add(Fault("PATCH", "/status$", times=3, before=partial(_touch, run)))
        run.step("delete", "service")
        run.step("wait", {"held": False, "outcome": "Clean"})
        assert fault.hits == 3
        assert len(run.helm.runs("uninstall")) == 1
        assert run.controller.complaints() == []


def _touch(run: Run) -> None:
    service = run.service()
    assert service is not None
    count = int(service["metadata"].get("annotations", {}).get("example.test/count", 0)) + 1
    patch = {"metadata": {"annotations": {"example.test/count": str(count)}}}
    run.world.plane.api.patch(service, patch)


@pytest.mark.parametrize("in_stream", [False, True], ids=["as an answer", "as an event"])
def test_expired(operator_world: World, tmp_path: Path, *, in_stream: bool) -> None:
    """410: the collection is listed again, and nothing that happened meanwhile is missed."""
    with _running(operator_world, tmp_path, "expired") as (run, proxy):
        held = threading.Event()
        event = {"type": "ERROR", "object": EXPIRED}
        status, body = (200, event) if in_stream else (410, EXPIRED)
        for path in ("/llmservices.*watch=1", "/pods.*watch=1", "/secrets.*watch=1"):
            proxy.add(Fault("GET", path, status=status, body=body, held=held))
        proxy.cut()
        run.step("delete", "service")
        held.set()
        run.step("wait", {"held": False, "outcome": "Clean"})
        broke = [r for r in run.controller.records() if r["event"] == "watch broke" and r["status"] == 410]
        assert {r["watch"] for r in broke} == {"llmservices", "pods", "secrets"}


def test_slow_for_one(operator_world: World, tmp_path: Path) -> None:
    """A server that does not answer for one service, and a helm that hangs for another, delay no third."""
    with _running(operator_world, tmp_path, "slow") as (run, proxy):
        held = threading.Event()
        proxy.add(Fault("PATCH", "/llmservices/sable/status$", times=None, held=held))
        other = run.world.service(run.namespace, "onyx", CASE["spec"])
        run.world.plane.api.create(other)
        run.step("delete", "service")
        wait_until(lambda: _phase(run, "onyx") == "Ready", "the other service is installed", PATIENCE)
        run.world.plane.api.delete(other)
        gone = lambda: run.world.find_service(run.namespace, "onyx") is None  # noqa: E731 - one condition
        wait_until(gone, "the other service is gone while the first waits", PATIENCE)
        assert run.status().get("deletion") is None
        held.set()
        run.step("wait", {"held": False, "outcome": "Clean"})


def _phase(run: Run, name: str) -> object:
    return ((run.world.find_service(run.namespace, name) or {}).get("status") or {}).get("phase")


def test_hanging_helm(operator_world: World, tmp_path: Path) -> None:
    """A helm that hangs is a child of its own service only, and dies with the controller."""
    with _running(operator_world, tmp_path, "hang") as (run, _):
        run.helm.hang("uninstall")
        run.step("delete", "service")
        wait_until(lambda: run.helm.runs("uninstall"), "helm was started", PATIENCE)
        run.helm.heal("uninstall")
        other = run.world.service(run.namespace, "onyx", CASE["spec"])
        run.world.plane.api.create(other)
        wait_until(lambda: _phase(run, "onyx") == "Ready", "the other service is installed", PATIENCE)
        assert run.controller.children() != []
        children = run.controller.children()
        run.controller.kill()
        wait_until(lambda: not any(map(_alive, children)), "helm died with its controller", PATIENCE)
        run.controller.start()
        run.step("wait", {"held": False, "outcome": "Clean"})
        assert len(run.helm.runs("uninstall")) == 2
        run.world.plane.api.delete(other)
        gone = lambda: run.world.find_service(run.namespace, "onyx") is None  # noqa: E731 - one condition
        wait_until(gone, "the other service is gone", PATIENCE)


def _alive(process: int) -> bool:
    status = Path(f"/proc/{process}/status")
    try:
        return "State:\tZ" not in status.read_text()
    except OSError:
        return False


def test_dead_for_a_while(operator_world: World, tmp_path: Path) -> None:
    """A server that is gone for some seconds in the middle of a teardown: it goes on where it stopped."""
    pods = [{"name": "sable-0"}]
    with _running(operator_world, tmp_path, "dead", pods=pods) as (run, proxy):
        run.step("delete", "service")
        run.step("wait", {"stage": "PodsTerminating"})
        proxy.dead = True
        proxy.cut()
        run.step("remove", "pod/sable-0")
        run.step("clock", "5s")
        run.step("hold", {"held": True, "stage": "PodsTerminating"})
        wait_until(lambda: _broken(run), "every watch is down", PATIENCE)
        proxy.dead = False
        run.step("clock", "5s")
        run.step("wait", {"stage": "Released", "held": False, "outcome": "Clean"})
        assert run.controller.complaints() == []
        assert len(run.helm.runs("uninstall")) == 1


def _broken(run: Run) -> bool:
    broke = [r for r in run.controller.records() if r["event"] == "watch broke"]
    return {"llmservices", "pods", "nodes", "secrets"} <= {r["watch"] for r in broke}


def test_dead_for_too_long(operator_world: World, tmp_path: Path) -> None:
    """Who cannot renew its lease ends itself, with a code that has it started again."""
    with _running(operator_world, tmp_path, "lease", lease=15) as (run, proxy):
        proxy.dead = True
        proxy.cut()
        run.controller.wait_dead()
        assert run.controller.exit_code() == 1
        proxy.dead = False
        run.step("delete", "service")
        run.controller.start()
        run.step("wait", {"held": False, "outcome": "Clean"})

"""End to end: real helm, a scheduler, pods that kwok runs and ends, and the real controller."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controlplane.kube import wait_until
from operator_harness.world import FINALIZER, PATIENCE, World
from releases_harness.cases import Run

SIX_MINUTES = 360.0


def _pods(run: Run) -> list[str]:
    return [pod["metadata"]["name"] for pod in run.world.plane.api.list("v1", "Pod", run.namespace)]


def _wait_for_pods(run: Run, number: int) -> None:
    def running() -> bool:
        pods = run.world.plane.api.list("v1", "Pod", run.namespace)
        return [pod["status"].get("phase") for pod in pods] == ["Running"] * number

    run.world.plane.wait(running, f"{number} pods run", PATIENCE)


def _listed_until_gone(run: Run) -> list[int]:
    """Follow a release to its end; whenever pods are there, it must have been listed as uninstalling."""
    seen: list[int] = []
    deadline = time.monotonic() + SIX_MINUTES
    while time.monotonic() < deadline:
        row = run.client.row(run.namespace, run.name)
        if row is None:
            assert _pods(run) == [], "it is not listed any more, and pods are there"
            return seen
        assert row["phase"] == "uninstalling", row
        answer = run.send("DELETE")
        if answer.status == 404:
            continue  # It went after the row was read.
        assert answer.output == "uninstall already in progress"
        seen.append(row.get("podsRemaining", 0))
        time.sleep(0.3)
    raise AssertionError(f"still listed after six minutes: {row}")


def test_helm(pod_world: World, tmp_path: Path) -> None:
    """A deployment of two pods that take twenty seconds to end: listed until they have."""
    values = {"replicas": 2, "grace": 60, "terminatesAfter": "20s"}
    run = Run(pod_world, {"id": "e2e-helm", "nodes": {}, "values": values}, tmp_path)
    try:
        run.set_up()
        _wait_for_pods(run, 2)
        run.step("wait", {"row": {"phase": "applied", "replicas": 2, "revision": 1}})
        began = time.monotonic()
        run.step("do", {"DELETE": {"status": 200, "phase": "uninstalling", "has": "uninstalled"}})
        run.step("check", {"record": False})
        drift = "uninstall in progress: PodsTerminating"
        run.step("wait", {"row": {"phase": "uninstalling", "drift": drift}})
        seen = _listed_until_gone(run)
        assert time.monotonic() - began > 20
        assert max(seen) == 2
        assert len(run.helm.runs("uninstall")) == 1
        run.step("check", {"plan": "absent", "audit": {"uninstall removed": 1}})
        assert run.server.complaints() == []
    finally:
        run.end()


@contextmanager
def _unstaged(run: Run) -> Iterator[None]:
    """Play a controller that drops its finalizer the moment that the object is deleted."""
    over = threading.Event()

    def drop() -> None:
        while not over.is_set():
            service = run.world.find_service(run.namespace, run.name)
            if service is not None and service["metadata"].get("deletionTimestamp"):
                run.step("remove", "service")
                return
            time.sleep(0.02)

    thread = threading.Thread(target=drop, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_llmsvc_staged(pod_world: World, tmp_path: Path) -> None:
    """The real controller takes it down in stages; the row passes them on, and goes with the object."""
    values = {"replicas": 1, "grace": 60, "terminatesAfter": "15s", "route": {"enabled": True}}
    case = {"id": "e2e-staged", "nodes": {}, "values": values, "backend": "llmsvc", "controller": "real"}
    run = Run(pod_world, case, tmp_path)
    stages: list[str] = []
    try:
        run.set_up()
        _wait_for_pods(run, 1)
        run.step("wait", {"row": {"phase": "ready", "revision": 1, "replicas": 1}})
        service = run.world.find_service(run.namespace, run.name)
        assert service is not None
        run.world.plane.api.patch(service, {"spec": {"deletion": {"routeSettle": "1s"}}})
        run.step("do", {"DELETE": {"status": 200, "output": "uninstall already in progress"}})
        deadline = time.monotonic() + SIX_MINUTES
        while (row := run.client.row(run.namespace, run.name)) is not None and time.monotonic() < deadline:
            assert row["phase"] == "uninstalling", row
            stage = row.get("deletion", {}).get("stage", "")
            stages += [stage] if stage not in stages else []
            assert run.send("DELETE").status in (200, 404)
        assert [stage for stage in stages if stage][-1] in ("PodsTerminating", "Released")
        assert _pods(run) == []
        run.step("check", {"service": False, "plan": "absent", "audit": {"uninstall removed": 1}})
        assert run.server.complaints() == []
    finally:
        run.end()


@pytest.mark.parametrize("finalizers", [[FINALIZER], []], ids=["drops its finalizer", "has none"])
def test_llmsvc_unstaged(pod_world: World, tmp_path: Path, finalizers: list[str]) -> None:
    """With a controller that does not stage the object goes almost at once, and the same path cleans up."""
    case = {"id": "e2e-unstaged", "nodes": {}, "backend": "llmsvc", "autoscale": True}
    run = Run(pod_world, {**case, "finalizers": finalizers}, tmp_path)
    try:
        run.set_up()
        with _unstaged(run):
            run.step("do", {"DELETE": {"status": 200, "output": "uninstall already in progress"}})
            wait_until(lambda: _gone(run), "the release is gone", SIX_MINUTES, 0.1)
        run.step("check", {"plan": "absent", "archives": [], "audit": {"uninstall removed": 1}})
        assert run.server.complaints() == []
    finally:
        run.end()


def _gone(run: Run) -> bool:
    answer = run.send("DELETE")
    assert answer.status in (200, 404)
    listed = run.client.row(run.namespace, run.name) is not None
    return not listed and run.world.find_service(run.namespace, run.name) is None

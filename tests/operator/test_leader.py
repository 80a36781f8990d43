"""Leader election, probes, metrics and an end in good order."""

import http.client
from datetime import datetime, timedelta
from pathlib import Path

from controlplane.kube import Object, wait_until
from operator_harness.cases import Run
from operator_harness.controller import Controller
from operator_harness.world import ACCOUNT, PATIENCE, World

LEASE_SECONDS = 15
CASE = {"id": "leader", "spec": {"deletion": {"routeSettle": "0s"}}, "installed": False}


def _second(run: Run, folder: Path) -> Controller:
    folder.mkdir()
    other = Controller(run.world, folder, run.namespace, helm=str(run.helm.path), identity="second")
    other.lease_seconds = run.controller.lease_seconds
    return other


def test_a_stopped_leader_hands_over_at_once(operator_world: World, tmp_path: Path) -> None:
    """SIGTERM: exit code 0, the lease is released, and the other replica need not wait for it to run out."""
    run = Run(operator_world, CASE, tmp_path)
    second = _second(run, tmp_path / "second")
    try:
        run.set_up()
        run.step("wait", {"phase": "Ready"})
        second.start()
        wait_until(second.waiting, "the second replica waits for the lease", PATIENCE)
        assert run.controller.stop() == 0
        wait_until(second.leads, "the second replica leads", run.controller.lease_seconds / 2)
        run.step("delete", "service")
        run.step("wait", {"held": False, "outcome": "Clean"})
        assert second.complaints() == run.controller.complaints() == []
    finally:
        second.close()
        run.end()


def test_a_hanging_helm_does_not_hold_up_the_end(operator_world: World, tmp_path: Path) -> None:
    """SIGTERM while helm hangs: helm gets some seconds, is killed, and the next leader finishes its work."""
    run = Run(operator_world, {**CASE, "installed": True}, tmp_path)
    run.controller.drain_seconds = 1
    try:
        run.set_up()
        run.helm.hang("uninstall")
        run.step("delete", "service")
        wait_until(lambda: run.helm.runs("uninstall"), "helm was started", PATIENCE)
        children = run.controller.children()
        assert run.controller.stop() == 0
        assert children != []
        assert not any(Path(f"/proc/{child}").exists() for child in children)
        run.helm.heal("uninstall")
        run.controller.start()
        run.step("wait", {"held": False, "outcome": "Clean"})
        assert run.controller.complaints() == []
    finally:
        run.end()


def test_a_killed_leader_is_waited_out(operator_world: World, tmp_path: Path) -> None:
    """Nobody acts while the lease of a leader that was killed may still hold; then the other replica does."""
    run = Run(operator_world, CASE, tmp_path)
    run.controller.lease_seconds = LEASE_SECONDS
    second = _second(run, tmp_path / "second")
    try:
        run.set_up()
        run.step("wait", {"phase": "Ready"})
        second.start()
        wait_until(second.waiting, "the second replica waits for the lease", PATIENCE)
        run.controller.kill()
        renewed = _lease(run)["renewTime"]
        run.step("delete", "service")
        wait_until(second.leads, "the second replica leads", PATIENCE)
        waited = datetime.fromisoformat(_lease(run)["acquireTime"]) - datetime.fromisoformat(renewed)
        assert waited >= timedelta(seconds=LEASE_SECONDS)
        run.step("wait", {"held": False, "outcome": "Clean"})
        assert len(run.helm.runs("uninstall")) == 1
    finally:
        second.close()
        run.end()


def _lease(run: Run) -> Object:
    lease = run.world.plane.api.get("coordination.k8s.io/v1", "Lease", run.namespace, ACCOUNT[0])
    spec: Object = lease["spec"]
    return spec


def test_probes_and_metrics(operator_world: World, tmp_path: Path) -> None:
    """Ready once the caches are filled; the metrics tell a teardown's stages, pods and outcome."""
    pods = [{"name": "sable-0"}]
    run = Run(operator_world, {**CASE, "pods": pods, "installed": True}, tmp_path)
    try:
        run.set_up()
        assert _get(run, "/healthz") == (200, "ok")
        assert _get(run, "/readyz") == (200, "ok")
        run.step("delete", "service")
        run.step("wait", {"stage": "PodsTerminating"})
        _wait_metric(run, 'llm_operator_teardowns{stage="PodsTerminating"} 1.0')
        _wait_metric(run, "llm_operator_pods_remaining 1.0")
        run.step("remove", "pod/sable-0")
        run.step("clock", "5s")
        run.step("wait", {"held": False})
        _wait_metric(run, 'llm_operator_teardowns_finished_total{outcome="Clean"} 1.0')
        _wait_metric(run, 'llm_operator_teardown_stage_seconds_count{stage="RouteRemoving"} 1.0')
        _wait_metric(run, 'llm_operator_teardowns{stage="PodsTerminating"} 0.0')
        _wait_metric(run, 'llm_operator_helm_runs_total{result="succeeded",verb="Uninstall"} 1.0')
        _wait_metric(run, "llm_operator_leading 1.0")
    finally:
        run.end()


def _get(run: Run, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", run.controller.port(), timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def _wait_metric(run: Run, line: str) -> None:
    wait_until(lambda: line in _get(run, "/metrics")[1].splitlines(), line, PATIENCE)

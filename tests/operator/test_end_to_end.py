"""End to end: real helm, a scheduler, and pods of a Deployment that kwok runs and ends.

kwok runs no preStop hook: an annotation on the pod says after how long it ends, whatever its grace.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

from controlplane.kube import wait_until
from controlplane.layout import REGISTRY
from operator_harness import audit
from operator_harness.cases import Run
from operator_harness.controller import CONTROLLER
from operator_harness.world import ACCOUNT, PATIENCE, ROOT, World

README = ROOT / "operator" / "README.md"


def _run(world: World, folder: Path, name: str, values: dict[str, object], deletion: dict[str, str]) -> Run:
    case = {"id": name, "nodes": {}, "values": values, "spec": {"deletion": deletion}}
    return Run(world, case, folder)


def _wait_for_pods(run: Run, number: int) -> None:
    def running() -> bool:
        pods = run.world.plane.api.list("v1", "Pod", run.namespace)
        return [pod["status"]["phase"] for pod in pods] == ["Running"] * number

    run.world.plane.wait(running, f"{number} pods run", PATIENCE)


def test_a_drain_holds_the_object(pod_world: World, tmp_path: Path) -> None:
    """The ModelRoute goes before the Deployment.

    And pods that drain for 20 s hold the object for that long.
    """
    values = {"replicas": 2, "grace": 60, "terminatesAfter": "20s"}
    run = _run(pod_world, tmp_path, "drain", values, {"routeSettle": "1s"})
    try:
        run.set_up()
        _wait_for_pods(run, 2)
        began = time.monotonic()
        run.step("delete", "service")
        run.step("wait", {"stage": "PodsTerminating", "podsRemaining": 2})
        run.step("wait", {"held": False, "outcome": "Clean"})
        assert time.monotonic() - began > 20
        made = [str(call) for call in audit.changes(pod_world.plane, run.namespace)]
        assert made.index("controller delete modelroutes") < made.index("helm delete deployments")
        assert made.count("controller delete pods") == 0
        _check_timeline(run)
        assert run.controller.complaints() == []
    finally:
        run.end()


def _check_timeline(run: Run) -> None:
    """See that the README's timeline is that of this run: same events in the same order."""
    section = README.read_text().split("## A timeline")[1].split("\n## ")[0]
    told = re.findall(r"^\s*[0-9.]+ s\s+(\w+)", section, re.MULTILINE)
    events = [event["reason"] for event in run.events() if event["involvedObject"]["kind"] == "LLMService"]
    assert told == events


def test_force_delete_of_a_pod_that_ignores_sigterm(pod_world: World, tmp_path: Path) -> None:
    """With force-delete-after 5s a pod of grace 600 that does not end is gone within seconds, by its UID."""
    values = {"replicas": 1, "grace": 600, "terminatesAfter": "10m"}
    run = _run(pod_world, tmp_path, "ignores", values, {"routeSettle": "0s"})
    run.case["annotations"] = {"force-delete-after": "5s"}
    try:
        run.set_up()
        _wait_for_pods(run, 1)
        run.step("delete", "service")
        began = time.monotonic()
        run.step("wait", {"held": False, "outcome": "PodsForceDeleted"})
        assert time.monotonic() - began > 5
        reasons = [event["reason"] for event in run.events()]
        assert reasons.count("PodForceDeleted") == 1
        calls = [
            call
            for call in audit.calls(pod_world.plane, run.namespace)
            if str(call) == "controller delete pods"
        ]
        assert [call.code for call in calls] == [200]
        assert pod_world.plane.api.list("v1", "Pod", run.namespace) == []
    finally:
        run.end()


def test_route_stuck(pod_world: World, tmp_path: Path) -> None:
    """The route's controller is stopped.

    Event and condition say RouteStuck, and the route keeps its finalizer.
    """
    route = {"finalizers": ["example.test/route-controller"]}
    # A long grace: by the controller's moved clock a short one would be over long ago.
    values = {"replicas": 1, "grace": 600, "terminatesAfter": "50s", "route": route}
    run = _run(pod_world, tmp_path, "stuck", values, {"maxWait": "10m"})
    try:
        run.set_up()
        _wait_for_pods(run, 1)
        run.helm.hang("uninstall")
        run.step("delete", "service")
        run.step("wait", {"stage": "RouteRemoving"})
        run.step("clock", "10m1s")
        run.step("wait", {"reason": "RouteStuck", "stage": "Uninstalling", "event": "RouteStuck"})
        run.helm.heal("uninstall")
        run.step("restart", "kill")
        run.step("wait", {"held": False, "route_finalizers": ["example.test/route-controller"]})
        # One uninstall and one look at the pods: they have only just been told to end.
        assert run.status()["deletion"]["outcome"] == "TimedOut"
        assert _warnings(run) == ["RouteStuck", "TimedOut"]
        assert run.controller.complaints() == []
    finally:
        run.end()


def _warnings(run: Run) -> list[str]:
    ours = [event for event in run.events() if event["involvedObject"]["kind"] == "LLMService"]
    return [event["reason"] for event in ours if event["type"] == "Warning"]


def test_chart_from_an_oci_registry(pod_world: World, tmp_path: Path) -> None:
    """A chart that lies in an OCI registry is installed, and its release taken down like any other."""
    registry = f"oci://127.0.0.1:{_push_chart(pod_world)}/charts"
    run = _run(pod_world, tmp_path, "oci", {}, {"routeSettle": "0s"})
    run.case["spec"]["chart"] = _oci_chart(registry)
    try:
        run.set_up()
        assert run.status()["release"] == {"name": "sable", "revision": 1, "chart": "textgen-0.1.0"}
        run.step("delete", "service")
        run.step("wait", {"held": False, "outcome": "Clean"})
    finally:
        run.end()


def _push_chart(world: World) -> int:
    """Push the test chart to the plane's registry and return its port on this machine."""
    port = world.plane.forward(REGISTRY)
    chart = world.charts.folder / "textgen-0.1.0.tgz"
    push = [world.plane.tools["helm"], "push", str(chart), f"oci://127.0.0.1:{port}/charts", "--plain-http"]
    subprocess.run(push, check=True, capture_output=True)
    return port


def _oci_chart(registry: str) -> dict[str, object]:
    return {"oci": registry, "plainHTTP": True, "name": "textgen", "version": "0.1.0"}


def test_as_in_a_pod(pod_world: World, tmp_path: Path) -> None:
    """Without any kubeconfig controller and helm use the account that a pod has mounted."""
    _push_chart(pod_world)
    plane = pod_world.plane
    run = _run(pod_world, tmp_path, "pod", {}, {"routeSettle": "0s"})
    argv = [sys.executable, "-m", CONTROLLER, "--helm", plane.tools["helm"], "--namespace", run.namespace]
    argv += ["--lease-name", run.namespace, "--lease-seconds", "60", "--port", "0"]
    service = pod_world.service(run.namespace, run.name, {"deletion": {"routeSettle": "0s"}})
    service["spec"]["chart"] = _oci_chart(f"oci://{plane.registry}/charts")
    process = f"controller-{run.namespace}"
    plane.add_process(process, argv, {"PYTHONPATH": str(ROOT / "operator")}, account=ACCOUNT)
    try:
        plane.api.create(service)
        run.step("wait", {"phase": "Ready"})
        run.step("delete", "service")
        wait_until(lambda: run.service() is None, "the service is gone", PATIENCE)
        assert "unhandled" not in plane.logs(process)
    finally:
        plane.stop(process)
        run.end()

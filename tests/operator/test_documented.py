"""The documents' commands about LLMServices, each in a situation that they are for.

What is typed stands in the documents, what is printed in the files below `transcripts`: see support.shell.
"""

from pathlib import Path

from controlplane.kube import Object, wait_until
from operator_harness.cases import Run
from operator_harness.world import ACCOUNT, DEPLOY, PATIENCE, World
from support.shell import Shell, first_lines

TRANSCRIPTS = Path(__file__).parent / "transcripts"
QUICK = {"deletion": {"routeSettle": "0s"}}
NO_ROUTE = {"route": {"enabled": False}}


def _run(world: World, folder: Path, name: str, **case: object) -> tuple[Run, Shell]:
    """Return a service, with its controller, and a shell to look at it."""
    run = Run(world, {"id": f"doc-{name}", "spec": QUICK, "values": NO_ROUTE, **case}, folder)
    return run, Shell(world.plane.tools, folder, world.plane.kubeconfig, NAME=run.name, NS=run.namespace)


def test_helm_fails(operator_world: World, tmp_path: Path) -> None:
    """A chart that is nowhere: helm's words."""
    chart = {"repository": operator_world.charts.url, "name": "textgen", "version": "9.9.9"}
    run, shell = _run(operator_world, tmp_path, "helm", installed=False, spec={**QUICK, "chart": chart})
    try:
        run.set_up()
        run.step("wait", {"phase": "Failed", "ready": "HelmFailed"})
        shell("why-not-ready")
        shell.compare(TRANSCRIPTS / "helm-fails.console")
    finally:
        run.end()


def test_foreign_release(operator_world: World, tmp_path: Path) -> None:
    """A release of the service's name is somebody else's, and nobody needs it."""
    run, shell = _run(operator_world, tmp_path, "foreign", installed=False, foreign=True)
    try:
        run.set_up()
        run.step("wait", {"phase": "Failed", "ready": "ForeignRelease"})
        shell("why-not-ready")
        shell("uninstall-foreign")
        run.step("clock", "1m1s")
        run.step("wait", {"phase": "Ready"})
        shell.compare(TRANSCRIPTS / "foreign-release.console")
    finally:
        run.end()


def test_suspended(operator_world: World, tmp_path: Path) -> None:
    """A deletion that is suspended goes on."""
    run, shell = _run(operator_world, tmp_path, "suspended")
    try:
        run.set_up()
        run.step("spec", {"suspend": True})
        run.step("wait", {"phase": "Suspended"})
        run.step("delete", "service")
        run.step("wait", {"event": "DeletionSuspended"})
        run.step("hold", {"deleting": False, "held": True})
        shell("resume")
        run.step("wait", {"held": False, "outcome": "NoRoute"})
        shell.compare(TRANSCRIPTS / "suspended.console")
    finally:
        run.end()


def test_pods_stay(operator_world: World, tmp_path: Path) -> None:
    """A pod that has been terminating for longer than two minutes is deleted with grace 0."""
    run, shell = _run(operator_world, tmp_path, "pods", pods=[{"name": "sable-0", "grace": 600}])
    try:
        run.set_up()
        run.step("delete", "service")
        run.step("wait", {"stage": "PodsTerminating", "podsRemaining": 1})
        run.step("delete", "pod/sable-0")
        run.step("clock", "2m10s")
        run.step("hold", {"stage": "PodsTerminating"})
        shell("force")
        run.step("wait", {"forceDeleted": ["sable-0"], "held": False, "outcome": "PodsForceDeleted"})
        shell.compare(TRANSCRIPTS / "pods-stay.console")
    finally:
        run.end()


def test_rights_are_lost(lone_world: World, tmp_path: Path) -> None:
    """Nobody looks after a service; then the controller's helm has no rights, and an uninstall no end."""
    run, shell = _run(lone_world, tmp_path, "rights")
    plane = lone_world.plane
    try:
        plane.kubectl("apply", "-f", str(DEPLOY / "deployment.yaml"))
        wait_until(lambda: "status" in _deployment(run), "the Deployment is there", PATIENCE)
        shell("who-looks-after")
        run.set_up()
        shell("narrow")
        run.step("delete", "service")
        run.step("wait", {"event": "UninstallFailed", "stage": "Uninstalling"})
        shell("why-not-uninstalled", part=first_lines(2))
        shell("shorten")
        run.step("clock", "5m1s")
        run.step("wait", {"event": "TimedOut", "held": False, "outcome": "TimedOut"})
        shell.compare(TRANSCRIPTS / "rights-are-lost.console")
    finally:
        run.end()


def _deployment(run: Run) -> Object:
    return run.world.plane.api.get("apps/v1", "Deployment", ACCOUNT[1], ACCOUNT[0])

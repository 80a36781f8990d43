"""What the demo stands on: a control plane of its own, the product installed on it, kubectl."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from controlplane.errors import WaitTimeoutError
from controlplane.kube import ApiError
from controlplane.options import Options
from controlplane.plane import Plane
from operator_harness import controller, planes
from operator_harness import world as operator
from support import world
from support.product import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from controlplane.kube import Object
    from controlplane.timeline import Ref

NAME = "demo"
KUBERNETES = "kubernetes.m.crossplane.io/v1alpha1"
CLUSTER_CONFIG = (KUBERNETES, "ClusterProviderConfig")
SERVICE = (operator.API, "LLMService")
SERVED = (SERVICE, (operator.ROUTE_API, "ModelRoute"), ("v1", "Pod"))
COMPOSED = (
    world.STACK,
    world.RELEASE,
    world.OBJECT,
    world.HELM_CONFIG,
    world.KUBERNETES_CONFIG,
    CLUSTER_CONFIG,
    world.USAGE,
    world.CLUSTER_USAGE,
)
_GRACE_SECONDS = 10
_NOT_FOUND = 404
WATCHED = (world.CLUSTER, SERVICE, *COMPOSED)
# A provider that polls often soon finds that a deletion is done.
OPTIONS = Options(poll="5s")


class Printed(NamedTuple):
    """What a command left."""

    code: int
    text: str


@contextlib.contextmanager
def control_plane() -> Iterator[Plane]:
    """Run a control plane; its logs are shown when something fails, but not when the user interrupts it."""
    shown = io.StringIO()
    try:
        with contextlib.redirect_stderr(shown):
            plane = Plane.up(f"{NAME}-{os.getpid()}", OPTIONS)
    except Exception:  # whatever it was, the logs say why; an interrupt is no failure
        sys.stderr.write(shown.getvalue())
        raise
    with contextlib.ExitStack() as stack:
        stack.push(plane)
        try:
            yield plane
        except KeyboardInterrupt:
            stack.pop_all()
            plane.close("none")
            raise


def serve_models(plane: Plane) -> None:
    """Install the LLMService controller and run it in the plane, with a node for its pods and a chart.

    On a cluster with nodes the ServingStack brings the controller, as one more component.
    """
    operator.install(plane)
    planes.add_node(plane)
    plane.packages.push_chart(operator.TESTS / "charts" / "textgen")
    argv = [sys.executable, "-m", controller.CONTROLLER, "--helm", plane.tools["helm"], "--port", "0"]
    argv.append("--lease-seconds=60")  # Who loses its lease ends, and here nobody starts it again.
    env = {"PYTHONPATH": str(ROOT / "operator")}
    plane.add_process("llmservice-controller", argv, env, account=operator.ACCOUNT)


def run(plane: Plane, command: str) -> Printed:
    """Run a pipeline of commands as a user of the plane types it in the project's folder."""
    programs = str(Path(plane.tools["kubectl"]).parent)
    env = {
        **os.environ,
        "PATH": os.pathsep.join([programs, os.environ.get("PATH", "")]),
        "KUBECONFIG": str(plane.kubeconfig),
        # The user's own cache may know another API server under the same port.
        "KUBECACHEDIR": str(plane.state.private("tmp", "kubectl")),
    }
    given, code, said = "", 0, ""
    for part in command.split(" | "):
        if code == 0:
            done = subprocess.run(
                shlex.split(part), cwd=ROOT, env=env, input=given, capture_output=True, text=True, check=False
            )
            given, code, said = done.stdout, done.returncode, done.stderr
    return Printed(code, given + said)


def is_ours(ref: Ref) -> bool:
    """Whether an object is of the demo's cluster: Crossplane names what it composes after the root."""
    return ref.kind == SERVICE[1] or ref.name == NAME or ref.name.startswith(f"{NAME}-")


def policy_is_in_force(plane: Plane) -> bool:
    """Whether a background delete of the cluster is refused: tried dry, which the policy refuses as well."""
    try:
        plane.api.delete(_cluster(), "Background", dry_run=True)
    except ApiError as error:
        return "forceforeground" in str(error)
    return False


def touch(plane: Plane, obj: Object) -> None:
    """Change an annotation, which makes an object's controller look at it; one that has just gone is fine."""
    try:
        plane.api.patch(obj, {"metadata": {"annotations": {"demo/touched": str(time.time_ns())}}})
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise


def finally_left(plane: Plane) -> list[str]:
    """Name what is left of the cluster after some seconds of grace for what nothing waits for."""
    with contextlib.suppress(WaitTimeoutError):
        plane.wait(lambda: not left(plane), "nothing is left", _GRACE_SECONDS, pause=0.5)
    return left(plane)


def left(plane: Plane) -> list[str]:
    """Name what is left of the cluster: what was composed, what was installed for it, and what that runs."""
    found = [] if plane.api.find(*world.CLUSTER, NAME) is None else [f"InferenceCluster {NAME}"]
    for kind in COMPOSED:
        items = plane.api.list(*kind, labelSelector=f"crossplane.io/composite={NAME}")
        found += [f"{kind[1]} {item['metadata']['name']}" for item in items]
    for kind in SERVED:
        found += [f"{kind[1]} {item['metadata']['name']}" for item in plane.api.list(*kind)]
    releases = plane.api.list(*world.SECRET, labelSelector="owner=helm")
    return found + [f"Helm release {item['metadata']['labels']['name']}" for item in releases]


def _cluster() -> world.Manifest:
    return {"apiVersion": world.CLUSTER[0], "kind": world.CLUSTER[1], "metadata": {"name": NAME}}

"""Installs this project on a plane from the plane's registry, with the commands that the README gives.

What has no container engine here is stood in for as closely as it goes: in place of the kubelet this runs a
program out of the image that the cluster's own object names, pulled from the registry, unpacked and checked.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controlplane.errors import ControlPlaneError
from controlplane.layout import REGISTRY_HOST
from controlplane.processes import Spec
from package.images.sources import ROOT
from support import commands, packages, shell
from support import documented as ledger
from support.containers import Container

if TYPE_CHECKING:
    from controlplane.plane import Plane

README = "README.md"
DOCUMENTED = "registry.example.org/team"
REGISTRY = f"{REGISTRY_HOST}/team"
FUNCTION = packages.installed_name(REGISTRY, packages.FUNCTION)
_PACKAGES = "pkg.crossplane.io/v1"
# Where Crossplane mounts a function's certificate, and the kubelet an account's token.
_TLS = "/tls/server"
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_PULL_SECONDS = 600.0


def publish(plane: Plane, folder: Path, tag: str) -> list[str]:
    """Push what `packages.build` left in the folder to the plane's registry; returns the names."""
    return packages.push(folder, REGISTRY, tag, plane.tools, lambda command: _inside(plane, command))


def _inside(plane: Plane, command: list[str]) -> tuple[int, str]:
    ended = plane.run(command, timeout=_PULL_SECONDS)
    return ended.code, (ended.stderr or ended.stdout).strip()


def documented(heading: str, file: str = README) -> list[str]:
    """Return the commands of the first block below a heading of a document."""
    found = [command for command in commands.read(file) if command.heading == heading and command.block]
    if not found:
        raise ControlPlaneError(f"{file} has no commands below {heading!r}")
    return [command.text for command in found if command.block == found[0].block]


def run(plane: Plane, command: str) -> str:
    """Run one documented command inside the plane, its registry in place of the documented one."""
    typed = command.replace(DOCUMENTED, REGISTRY)
    # Caches and settings of kubectl and helm stay out of the user's own home.
    home = str(plane.state.private("tmp", "home"))
    kubeconfig = str(plane.state.private("kubeconfigs") / "admin")
    path = shell.programs(plane.tools, plane.state.private("tmp", "path"))
    env = {"KUBECONFIG": kubeconfig, "PATH": f"{path}:/usr/local/bin:/usr/bin:/bin", "HOME": home}
    done = plane.run(["bash", "-ec", f"cd '{ROOT}' && {typed}"], env, timeout=_PULL_SECONDS)
    if done.code:
        raise ControlPlaneError(f"`{typed}` failed: {(done.stderr or done.stdout).strip()}")
    ledger.note(command)
    return done.stdout


def pull(plane: Plane, image: str) -> Container:
    """Pull an image (or a package with one inside) from the plane's registry and unpack it."""
    folder = plane.state.private("images")
    with tempfile.TemporaryDirectory(dir=folder) as work:
        file = Path(work) / "image.tar"
        code, said = _inside(plane, [plane.tools["crane"], "pull", image, str(file)])
        if code:
            raise ControlPlaneError(f"pulling {image} failed: {said}")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        return Container.unpack(file, folder / digest[:16])


def run_function(plane: Plane) -> Container:
    """Run the Function out of its active revision's image, as Crossplane's Deployment would."""
    name = FUNCTION
    image = plane.wait(lambda: _active_image(plane, name), f"Function {name} has an active revision", 120)
    container = pull(plane, image)
    certificates = plane.packages.certificates(name)
    command = container.command(env={"TLS_SERVER_CERTS_DIR": _TLS}, mounts={certificates: _TLS})
    if plane.status().get(name, {}).get("state") == "running":
        plane.stop(name)
    plane.packages.serve_function(name, command)
    return container


def _active_image(plane: Plane, name: str) -> str:
    package = plane.api.find(_PACKAGES, "Function", name)
    for revision in plane.api.list(_PACKAGES, "FunctionRevision"):
        label = revision["metadata"]["labels"]["pkg.crossplane.io/package"]
        image: str = revision["spec"]["image"]
        wanted = package is not None and image == package["spec"]["package"]
        if label == name and wanted and revision["spec"]["desiredState"] == "Active":
            return image
    return ""


def run_deployment(plane: Plane, namespace: str, name: str, *more: str) -> Container:
    """Run the one container of a Deployment as the kubelet would: image, command, arguments, account.

    With `more` arguments, such as another port: here all programs share one address.
    """
    deployment = plane.api.get("apps/v1", "Deployment", name, namespace)
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    (wanted,) = pod["containers"]
    container = pull(plane, wanted["image"])
    account = plane.credentials((namespace, pod["serviceAccountName"]))
    env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443", "POD_NAME": f"{name}-0"}
    command = container.command(
        [*wanted.get("args", []), *more], entrypoint=wanted["command"], env=env, mounts={account: _ACCOUNT}
    )
    if plane.status().get(name, {}).get("state") == "running":
        plane.stop(name)
    plane.start(Spec(name, command))
    return container

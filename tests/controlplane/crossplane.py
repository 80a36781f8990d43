"""Installs and starts Crossplane as its chart does: own accounts, exactly the chart's roles, webhooks on."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import yaml

from controlplane import boot, layout
from controlplane.catalog import CROSSPLANE
from controlplane.errors import ControlPlaneError
from controlplane.layout import CROSSPLANE_NAMESPACE
from controlplane.running import Account, RunningPlane

if TYPE_CHECKING:
    from pathlib import Path

    from controlplane.kube import Object
    from controlplane.options import Options

CORE = Account(CROSSPLANE_NAMESPACE, "crossplane")
RBAC_MANAGER = Account(CROSSPLANE_NAMESPACE, "rbac-manager")
WEBHOOK_SERVICE = "crossplane-webhooks"
# The chart's Deployments and Services are played by the processes that we start instead.
_CHART_KINDS = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Secret"}
_ATTEMPTS = 3


def install(plane: RunningPlane, options: Options) -> None:
    """Install the chart, initialise and start core and RBAC manager, and wait for the webhooks."""
    _apply_chart(plane)
    # The aggregated role is filled by a controller; before that Crossplane may do next to nothing.
    role = ("rbac.authorization.k8s.io/v1", "ClusterRole", "crossplane")
    plane.wait(lambda: plane.api.get(*role).get("rules"), "Crossplane's ClusterRole is aggregated")
    _initialise(plane)
    tls = {name: _write_tls(plane, f"crossplane-tls-{name}", name) for name in ("server", "client")}
    plane.add_process("crossplane", _core(plane, options, tls), _environment(), CORE)
    # The name of that role is the chart's.
    allowed = "--provider-clusterrole=crossplane:allowed-provider-permissions"
    plane.add_process("rbac-manager", [plane.tools["crossplane"], "rbac", "start", allowed], {}, RBAC_MANAGER)
    plane.wait(lambda: plane.listening(layout.CROSSPLANE_WEBHOOK), "Crossplane's webhooks answer")


def _apply_chart(plane: RunningPlane) -> None:
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CROSSPLANE_NAMESPACE}})
    chart = plane.tools.assets["crossplane"] / "charts" / "crossplane"
    command = [plane.tools["helm"], "template", "crossplane", str(chart), "--namespace", CROSSPLANE_NAMESPACE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ControlPlaneError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    for document in yaml.safe_load_all(done.stdout):
        if document and document["kind"] in _CHART_KINDS:
            # The module's chart is not a release's: its version is a placeholder.
            document["metadata"].setdefault("labels", {})["app.kubernetes.io/version"] = CROSSPLANE
            plane.api.apply(document)
    plane.api.apply(loopback_service(WEBHOOK_SERVICE, layout.CROSSPLANE_WEBHOOK))


def loopback_service(name: str, port: int) -> Object:
    """Return a Service that leads the API server to loopback: it resolves ExternalName by itself."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": CROSSPLANE_NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
    }


def _initialise(plane: RunningPlane) -> None:
    cluster = plane.tools.assets["crossplane"]
    command = [plane.tools["crossplane"], "core", "init", "--activation=*"]
    env = {
        **_environment(),
        "WEBHOOK_SERVICE_NAME": WEBHOOK_SERVICE,
        "WEBHOOK_SERVICE_NAMESPACE": CROSSPLANE_NAMESPACE,
        "WEBHOOK_SERVICE_PORT": str(layout.CROSSPLANE_WEBHOOK),
        "TLS_CA_SECRET_NAME": "crossplane-root-ca",
        "CRDS_PATH": str(cluster / "crds"),
        "WEBHOOK_CONFIGS_PATH": str(cluster / "webhookconfigurations"),
    }
    for _ in range(_ATTEMPTS):
        done = plane.run(command, env, CORE)
        if done.code == 0:
            return
    # A first attempt may fail with 'no matches for kind "Lock"': its CRD is not served yet. A pod's init
    # container is started again just so.
    raise ControlPlaneError(f"`crossplane core init` failed {_ATTEMPTS} times: {done.stderr[-1000:]}")


def _environment() -> dict[str, str]:
    return {
        "POD_NAMESPACE": CROSSPLANE_NAMESPACE,
        "POD_SERVICE_ACCOUNT": CORE.name,
        "TLS_SERVER_SECRET_NAME": "crossplane-tls-server",
        "TLS_CLIENT_SECRET_NAME": "crossplane-tls-client",
    }


def _write_tls(plane: RunningPlane, secret: str, name: str) -> Path:
    folder = plane.state.private("tls", name)
    for key, value in boot.read_secret(plane, CROSSPLANE_NAMESPACE, secret).items():
        (folder / key).write_bytes(value)
        (folder / key).chmod(0o600)
    return folder


def _core(plane: RunningPlane, options: Options, tls: dict[str, Path]) -> list[str]:
    return [
        plane.tools["crossplane"],
        "core",
        "start",
        f"--webhook-port={layout.CROSSPLANE_WEBHOOK}",
        f"--metrics-port={layout.CROSSPLANE_METRICS}",
        f"--health-probe-port={layout.CROSSPLANE_HEALTH}",
        f"--tls-server-certs-dir={tls['server']}",
        f"--tls-client-certs-dir={tls['client']}",
        f"--xpkg-cache-dir={plane.state.private('tmp', 'xpkg')}",
        "--package-runtime=Function=External;Provider=External",
        *options.crossplane_args,
    ]

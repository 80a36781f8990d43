"""Crossplane packages as a user installs them: built, pushed to the plane's registry, pulled by Crossplane.

Crossplane runs with the External package runtime: whoever runs a provider or function must complete its
revision (endpoint and TLS Secret). Here that is `settle`.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from controlplane import boot, certs, layout
from controlplane.errors import ControlPlaneError
from controlplane.layout import CROSSPLANE_NAMESPACE, REGISTRY_HOST
from controlplane.processes import Spec

if TYPE_CHECKING:
    from controlplane.kube import Object
    from controlplane.running import RunningPlane

Kind = Literal["Function", "Configuration", "Provider"]

_V1 = "pkg.crossplane.io/v1"
_KINDS: tuple[Kind, ...] = ("Function", "Configuration", "Provider")


class Packages:
    """Builds, pushes, installs and completes the packages of one plane."""

    def __init__(self, plane: RunningPlane) -> None:
        """Take the plane whose registry and Crossplane are meant."""
        self._plane = plane
        self._endpoints_file = plane.state.folder / "functions.json"

    def build_and_push(self, root: Path, repository: str, version: str) -> str:
        """Build the package in folder `root` and push it as `repository:version` (repository: org/name).

        Returns its name inside the plane.
        """
        file = self._plane.state.private("tmp", "packages") / f"{repository.replace('/', '_')}-{version}.xpkg"
        command = [self._plane.tools["crossplane-cli"], "xpkg", "build"]
        # Otherwise the CLI takes the examples of whatever folder it runs in into the package.
        examples = f"--examples-root={root / 'examples'}"
        arguments = [f"--package-root={root}", f"--package-file={file}", examples]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ControlPlaneError(f"building the package in {root} failed: {done.stderr.strip()}")
        return self.push(file, repository, version)

    def push(self, file: Path, repository: str, version: str) -> str:
        """Push a built package file and return its name inside the plane."""
        name = f"{REGISTRY_HOST}/{repository}:{version}"
        pushed = self._plane.run([self._plane.tools["crossplane-cli"], "xpkg", "push", "-f", str(file), name])
        if pushed.code:
            raise ControlPlaneError(f"pushing {name} failed: {pushed.stderr.strip()}")
        return name

    def push_chart(self, folder: Path) -> str:
        """Package the Helm chart in `folder` and push it; returns the OCI repository that a Release names."""
        target = self._plane.state.private("tmp", "charts", folder.name)
        helm = self._plane.tools["helm"]
        packed = subprocess.run(
            [helm, "package", str(folder), "--destination", str(target)],
            capture_output=True,
            text=True,
            check=False,
        )
        if packed.returncode:
            raise ControlPlaneError(f"packaging the chart {folder} failed: {packed.stderr.strip()}")
        archive = Path(packed.stdout.strip().rsplit(": ", 1)[1])
        pushed = self._plane.run(
            [helm, "push", str(archive), f"oci://{REGISTRY_HOST}/charts", "--plain-http"]
        )
        if pushed.code:
            raise ControlPlaneError(f"pushing the chart {archive.name} failed: {pushed.stderr.strip()}")
        return f"oci://{REGISTRY_HOST}/charts"

    def install(self, kind: Kind, name: str, package: str, seconds: float = 300) -> None:
        """Install a package under `name` and wait until it is installed and healthy."""
        self.declare(kind, name, package)
        self._plane.wait(lambda: self.settled(kind, name), f"{kind} {name} is healthy", seconds)

    def declare(self, kind: Kind, name: str, package: str) -> None:
        """Apply the package object, as a user does, without waiting."""
        self._plane.api.apply(
            {"apiVersion": _V1, "kind": kind, "metadata": {"name": name}, "spec": {"package": package}}
        )

    def settled(self, kind: Kind, name: str) -> bool:
        """Complete every revision that waits for its runtime; say whether the package is healthy."""
        self.complete_revisions()
        return healthy(self._plane.api.find(_V1, kind, name))

    def settle(self, seconds: float = 300) -> None:
        """Wait until all packages, those that came as dependencies included, are healthy."""

        def done() -> bool:
            self.complete_revisions()
            packages = [package for kind in _KINDS for package in self._plane.api.list(_V1, kind)]
            return all(healthy(package) for package in packages) and self._kinds_served()

        self._plane.wait(done, "all packages are installed and healthy", seconds)

    def _kinds_served(self) -> bool:
        # A healthy package's kinds are still only definitions until Crossplane has made CRDs of them.
        api = self._plane.api
        managed = api.list("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition")
        wanted = {_name(d) for d in managed if d["spec"]["state"] == "Active"}
        crds = api.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        composites = api.list("apiextensions.crossplane.io/v2", "CompositeResourceDefinition")
        return wanted <= {_name(crd) for crd in crds if _true(crd, "Established")} and all(
            _true(composite, "Established")
            for composite in composites
            if "deletionTimestamp" not in composite["metadata"]
        )

    def complete_revisions(self) -> None:
        """Give every active revision whose runtime runs here the status that an external runtime owes it.

        A revision's runtime is the component that is named as its package.
        """
        running = {name for name, process in self._plane.status().items() if process["state"] == "running"}
        for kind in ("FunctionRevision", "ProviderRevision"):
            for revision in self._plane.api.list(_V1, kind):
                package = revision["metadata"]["labels"]["pkg.crossplane.io/package"]
                if package in running and revision["spec"]["desiredState"] == "Active":
                    self._complete(revision, package)

    def _complete(self, revision: Object, package: str) -> None:
        status: dict[str, Any] = {"tlsServerSecretName": _secret_name(package)}
        if revision["kind"] == "FunctionRevision":
            status["endpoint"] = f"localhost:{self._endpoints()[package]}"
        observed = revision.get("status", {})
        if _true(revision, "RuntimeHealthy") and all(
            observed.get(key) == value for key, value in status.items()
        ):
            return
        self.certificates(package)
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": "RuntimeHealthy", "status": "True", "reason": "HealthyPackageRevision"}
        self._plane.api.apply(
            {
                "apiVersion": _V1,
                "kind": revision["kind"],
                "metadata": {"name": revision["metadata"]["name"]},
                "status": {**status, "conditions": [{**condition, "lastTransitionTime": now}]},
            },
            subresource="status",
        )

    def serve_function(self, name: str, argv: list[str], env: dict[str, str] | None = None) -> int:
        """Run a composition function inside the plane as the runtime of the Function `name`; return its port.

        `argv` gets `--address=127.0.0.1:PORT` appended; the certificates lie in TLS_SERVER_CERTS_DIR. Its log
        is that of the component `name`. Completes the Function's revision when it is already there.
        """
        endpoints = self._endpoints()
        port = endpoints.setdefault(name, layout.FIRST_FUNCTION + len(endpoints))
        variables = {"TLS_SERVER_CERTS_DIR": str(self.certificates(name)), **(env or {})}
        self._plane.start(Spec(name, [*argv, f"--address=127.0.0.1:{port}"], variables))
        self._endpoints_file.write_text(json.dumps(endpoints))
        self._plane.wait(lambda: self._plane.listening(port), f"the function {name} listens")
        self.complete_revisions()
        return port

    def _endpoints(self) -> dict[str, int]:
        if not self._endpoints_file.exists():
            return {}
        endpoints: dict[str, int] = json.loads(self._endpoints_file.read_text())
        return endpoints

    def certificates(self, package: str) -> Path:
        """Return the folder of a package's server certificate, made and stored as a Secret if need be."""
        folder = self._plane.state.private("tls", package)
        if not (folder / "tls.crt").exists():
            root = boot.read_secret(self._plane, CROSSPLANE_NAMESPACE, "crossplane-root-ca")
            ca = certs.Pair(root["tls.crt"], root["tls.key"])
            certs.signed(ca, ["localhost", f"{package}.{CROSSPLANE_NAMESPACE}.svc"]).write(folder, ca.cert)
        data = {
            name: base64.b64encode((folder / name).read_bytes()).decode()
            for name in ("ca.crt", "tls.crt", "tls.key")
        }
        metadata = {"name": _secret_name(package), "namespace": CROSSPLANE_NAMESPACE}
        self._plane.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
        return folder


def healthy(package: Object | None) -> bool:
    """Say whether a package is installed and healthy."""
    return _true(package, "Installed", "Healthy")


def _true(obj: Object | None, *types: str) -> bool:
    conditions = (obj or {}).get("status", {}).get("conditions") or []
    return set(types) <= {condition["type"] for condition in conditions if condition["status"] == "True"}


def _name(obj: Object) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _secret_name(package: str) -> str:
    return f"{package}-tls-server"

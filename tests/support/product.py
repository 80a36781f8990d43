"""Installs this project on a local control plane the way its users do."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from controlplane.errors import ControlPlaneError
from e2e.charts import build as charts
from e2e.standins.standin_function import CLUSTERS

if TYPE_CHECKING:
    from controlplane.plane import Plane

Manifest = dict[str, Any]

ROOT = Path(__file__).parents[2]
STANDINS = ROOT / "tests" / "e2e" / "standins"
FUNCTION = "function-inference-cluster"
VERSION = "v0.1.0"
SYSTEM_NAMESPACE = "modelplane-system"
CHARTS = {"cert-manager": "v1.17.1", "gateway-helm": "v1.8.1"}

# What the InferenceCluster has and Modelplane's does not (see tests/project/test_package_peer.py).
ADDITIONS = {"spec": ("services", "deletion"), "status": ("services", "teardown")}

_KINDS = {"inferenceclusters.modelplane.ai", "servingstacks.infrastructure.modelplane.ai"}


def install(plane: Plane, table: list[Manifest], *, peers: bool = False) -> None:
    """Install rights, Function and Configuration, and serve the function; returns when all are healthy.

    The Configuration is this project's own but for its ServingStack Composition, which names the plane's
    registry and `table` in its Settings. With `peers` its InferenceCluster has Modelplane's fields alone.
    """
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})
    plane.kubectl("apply", "-f", str(ROOT / "package" / "rbac.yaml"))
    registry = push_charts(plane)
    install_function(plane, "inference-cluster")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "configuration"
        shutil.copytree(ROOT / "package" / "configuration", root)
        _stamp(root / "apis" / "servingstacks" / "composition.yaml", settings(registry, table))
        if peers:
            _take_additions(root / "apis" / "inferenceclusters" / "definition.yaml")
        repository = "function/configuration-inference-cluster"
        plane.packages.build_and_push(root, repository, VERSION)
        xpkg_install(plane, "configuration", repository)
    plane.packages.settle()
    plane.wait(lambda: established(plane, _KINDS), "InferenceCluster and ServingStack are served")


def settings(registry: str, table: list[Manifest]) -> Manifest:
    """Return the input that makes a ServingStack of these components, charts from this registry."""
    head = {"apiVersion": "inference.modelplane.ai/v1alpha1", "kind": "Settings"}
    return {**head, "chartRegistry": registry, "plainHTTP": True, "components": table}


def _stamp(path: Path, given: Manifest) -> None:
    composition = yaml.safe_load(path.read_text())
    composition["spec"]["pipeline"][0]["input"] = given
    path.write_text(yaml.safe_dump(composition))


def _take_additions(path: Path) -> None:
    definition = yaml.safe_load(path.read_text())
    version = definition["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    for block, fields in ADDITIONS.items():
        for field in fields:
            del schema[block]["properties"][field]
    columns = version["additionalPrinterColumns"]
    version["additionalPrinterColumns"] = [c for c in columns if "teardown" not in c["jsonPath"]]
    path.write_text(yaml.safe_dump(definition))


def push_charts(plane: Plane) -> str:
    """Push small charts under the names of the real ones; returns the registry to name."""
    registry = ""
    with tempfile.TemporaryDirectory() as folder:
        for name, version in CHARTS.items():
            registry = plane.packages.push_chart(charts.stamp(name, version, Path(folder)))
    return registry


def install_function(plane: Plane, name: str, program: list[str] | None = None) -> None:
    """Install the Function package under `function-<name>` and serve it over mTLS."""
    repository = f"function/{name}"
    plane.packages.build_and_push(ROOT / "package" / "function", repository, VERSION)
    argv = program or [sys.executable, "-m", "function"]
    path = f"{ROOT}:{ROOT / 'tests'}"
    passed = {"PEER": os.environ.get("PEER", ""), "UV_OFFLINE": "1"}  # see support.variants
    kubeconfig = str(plane.state.private("kubeconfigs") / "admin")
    env = {**passed, "PYTHONPATH": path, "STANDIN_KUBECONFIG": kubeconfig}
    plane.packages.serve_function(f"function-{name}", argv, env)
    xpkg_install(plane, "function", repository)
    plane.packages.settle()


def install_standins(plane: Plane) -> None:
    """Install what comes with Modelplane as far as the tests need it: see tests/e2e/standins."""
    install_function(plane, "standin", [sys.executable, str(STANDINS / "standin_function.py")])
    for file in sorted(STANDINS.glob("*.yaml")):
        plane.kubectl("apply", "-f", str(file))
    clusters = {f"{cloud}clusters.infrastructure.modelplane.ai" for cloud in CLUSTERS.values()}
    names = {*clusters, "modelreplicas.modelplane.ai"}
    plane.wait(lambda: established(plane, names), "the stand-ins are served")


def install_policies(plane: Plane) -> None:
    """Install the admission policies, as the README says, and wait until they are in force."""
    plane.kubectl("apply", "-k", str(ROOT / "policies"))
    name = {"metadata": {"name": "policy-probe"}}
    probe = {"apiVersion": "modelplane.ai/v1alpha1", "kind": "InferenceCluster", **name}
    # A Composition that does not exist: the probe composes nothing and leaves nothing behind.
    unserved = {"compositionRef": {"name": "policy-probe"}}
    plane.api.apply({**probe, "spec": {"cluster": {"source": "Local"}, "crossplane": unserved}})
    plane.wait(lambda: _refused(plane, probe), "the policies refuse a background delete")
    plane.api.delete(probe, "Foreground")


def _refused(plane: Plane, probe: Manifest) -> bool:
    # A dry run is refused whatever it asks for, so the probe survives until the policy is in force.
    try:
        plane.api.delete(probe, "Background", dry_run=True)
    except ControlPlaneError as error:
        return "forceforeground" in str(error)
    return False


def xpkg_install(plane: Plane, kind: str, repository: str) -> None:
    """Run `crossplane xpkg install` with the public name; the plane's registry answers."""
    package = f"xpkg.crossplane.io/{repository}:{VERSION}"
    command = [plane.tools["crossplane-cli"], "xpkg", "install", kind, package]
    done = plane.run(command, {"KUBECONFIG": str(plane.state.private("kubeconfigs") / "admin")})
    if done.code:
        raise ControlPlaneError(f"`crossplane xpkg install {kind} {package}` failed: {done.stderr.strip()}")


def established(plane: Plane, names: set[str]) -> bool:
    """Whether Crossplane serves and composes these APIs."""
    found = plane.api.list("apiextensions.crossplane.io/v2", "CompositeResourceDefinition")
    return names <= {xrd["metadata"]["name"] for xrd in found if _is_established(xrd.get("status", {}))}


def _is_established(status: Manifest) -> bool:
    return any(c["type"] == "Established" and c["status"] == "True" for c in status.get("conditions", []))


def small_stack() -> list[Manifest]:
    """Return a component table that installs in seconds and has the order of the real one.

    Names carry the ServingStack's, so that many stacks share one cluster.
    """
    return [
        _release("certificates", "cert-manager"),
        {**_release("controller", "gateway-helm"), "outlives": ["gateway"]},
        _config_map("gateway"),
        _config_map("settings"),
    ]


def _release(name: str, chart: str) -> Manifest:
    source = {"repository": "oci://replaced.by.the.registry", "name": chart, "version": CHARTS[chart]}
    names = {"name": name, "releaseName": f"$(name)-{name}", "namespace": "serving"}
    return {**names, "kind": "Release", "chart": source}


def _config_map(name: str) -> Manifest:
    metadata = {"name": f"$(name)-{name}", "namespace": SYSTEM_NAMESPACE}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"role": name}}
    return {"name": name, "kind": "Object", "watch": True, "manifest": manifest}

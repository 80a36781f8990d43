"""The controller's two ways of installation: used, upgraded under a live LLMService, uninstalled."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from install import kubelet, leftovers
from install.versions import NEW
from operator_harness.world import ACCOUNT, API, TESTS
from policies.planes import exclusive
from support import registry

if TYPE_CHECKING:
    from controlplane.kube import Object
    from controlplane.plane import Plane

README = "operator/README.md"
SYSTEM, CONTROLLER = ACCOUNT
CHARTS_PORT = 8090
NAMESPACE = "served"


# A chart's names derive from its release: several controllers may share a cluster.
WAYS = {"kustomize": CONTROLLER, "Helm": "llm-operator"}


# Two others may be before it, each with a controller for all namespaces of the plane.
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("way", WAYS)
def test_install_upgrade_uninstall(plane: Plane, way: str) -> None:
    """The README's commands install, upgrade and uninstall, and no LLMService notices the upgrade."""
    name = WAYS[way]
    with exclusive(plane, "controller"):
        _serve_charts(plane)
        _run(plane, name, f"Install with {way}")
        plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        plane.api.apply(_service())
        plane.wait(partial(_is_ready, plane), "the service is ready", 120)
        before = _uids(plane)
        _run(plane, name, f"Upgrade with {way}", NEW)
        plane.wait(partial(_leads, plane, name), "the new controller leads", 120)
        assert _uids(plane) == before
        assert _found(plane)["status"]["release"]["revision"] == 1
        uninstall = registry.documented(f"Uninstall with {way}", README)
        registry.run(plane, uninstall[0])
        assert plane.api.list("v1", "Secret", NAMESPACE, labelSelector="owner=helm") == []
        with kubelet.stopping(plane, SYSTEM, name):
            for command in uninstall[1:]:
                registry.run(plane, command)
        left = partial(leftovers.named, plane, "llmservice", "llm-operator")
        plane.wait(lambda: not left(), "nothing of the controller is left", 60)
        plane.kubectl("delete", "namespace", NAMESPACE)


def _run(plane: Plane, name: str, heading: str, tag: str = "") -> None:
    """Run the documented commands, and the controller out of the image that the Deployment names then."""
    for command in registry.documented(heading, README):
        registry.run(plane, command)
    plane.kubectl("rollout", "status", f"deployment/{name}", f"--namespace={SYSTEM}", "--timeout=180s")
    image = _deployment(plane, name)["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.startswith(f"{registry.REGISTRY}/llm-operator:{tag}")
    registry.run_deployment(plane, SYSTEM, name, kubelet.PATIENT)


def _deployment(plane: Plane, name: str) -> Object:
    return plane.api.get("apps/v1", "Deployment", name, SYSTEM)


def _serve_charts(plane: Plane) -> None:
    """Serve the test chart inside the plane, where the controller's helm looks for it."""
    if "charts" in plane.status():
        return
    folder = plane.state.private("tmp", "served-charts")
    helm = plane.tools["helm"]
    package = ["package", str(TESTS / "charts" / "textgen"), "-d", str(folder)]
    for arguments in (package, ["repo", "index", str(folder)]):
        subprocess.run([helm, *arguments], check=True, capture_output=True)
    server = [sys.executable, "-m", "http.server", str(CHARTS_PORT), "--bind=127.0.0.1"]
    plane.add_process("charts", [*server, f"--directory={folder}"])
    plane.wait(lambda: plane.listening(CHARTS_PORT), "the charts are served")


def _service() -> Object:
    chart = {"repository": f"http://127.0.0.1:{CHARTS_PORT}", "name": "textgen", "version": "0.1.0"}
    values = {"route": {"enabled": False}, "replicas": 1}
    spec = {"chart": chart, "values": values, "deletion": {"routeSettle": "0s"}}
    metadata = {"name": "sable", "namespace": NAMESPACE}
    return {"apiVersion": API, "kind": "LLMService", "metadata": metadata, "spec": spec}


def _found(plane: Plane) -> Object:
    return plane.api.get(API, "LLMService", "sable", NAMESPACE)


def _is_ready(plane: Plane) -> bool:
    conditions = _found(plane).get("status", {}).get("conditions", [])
    ready = any((c["type"], c["status"]) == ("Ready", "True") for c in conditions)
    pods = plane.api.list("v1", "Pod", NAMESPACE)
    return ready and [pod["status"].get("phase") for pod in pods] == ["Running"]


def _leads(plane: Plane, name: str) -> bool:
    """Say whether the controller's last run leads; its log has all runs."""
    return "became leader" in plane.logs(name).rpartition('"starting"')[2]


def _uids(plane: Plane) -> dict[str, str]:
    """Return the identity of the service and of all that Helm installed for it."""
    kinds = [(API, "LLMService"), ("apps/v1", "Deployment"), ("v1", "Pod"), ("v1", "Secret")]
    items: list[dict[str, Any]] = [item for kind in kinds for item in plane.api.list(*kind, NAMESPACE)]
    return {f"{item['kind']} {item['metadata']['name']}": item["metadata"]["uid"] for item in items}

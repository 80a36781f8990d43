"""A control plane on which the operator's API, permissions and the ModelRoute kinds are installed."""

import secrets
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from controlplane import kubeconfig
from controlplane.kube import Object
from controlplane.plane import Plane
from operator_harness.charts import Repository

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "operator" / "deploy"
TESTS = ROOT / "tests" / "operator"
ACCOUNT = ("llm-operator-system", "llmservice-controller")
API = "serving.modelsphere.dev/v1alpha1"
ROUTE_API = "routing.modelsphere.dev/v1alpha1"
PATIENCE = 120.0
"""Seconds that anything is waited for: all tests of the project may run on two cores at the same time."""
FINALIZER = "serving.modelsphere.dev/teardown"


def install(plane: Plane) -> None:
    """Install what a user installs, from the shipped files, and the routing kinds."""
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ACCOUNT[0]}})
    for path in (DEPLOY / "crd.yaml", DEPLOY / "rbac.yaml", TESTS / "manifests" / "modelroutes.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            plane.api.apply(document)
    for group in ("serving.modelsphere.dev/v1alpha1", ROUTE_API, "routing.gpucluster.io/v1"):
        plane.wait(partial(plane.api.request, "GET", f"/apis/{group}"), f"{group} is served")


def kubeconfig_of(plane: Plane, account: tuple[str, str], path: Path) -> Path:
    """Write an account's kubeconfig to a file of one's own: the plane's is rewritten at any moment."""
    authority = (plane.state.pki / "ca.crt").read_bytes()
    return kubeconfig.write(path, plane.server, authority, plane.token(account))


@dataclass(frozen=True)
class World:
    """A prepared plane and the repository that its charts come from."""

    plane: Plane
    charts: Repository

    def namespace(self, prefix: str) -> str:
        """Make a namespace of one's own, ready for pods."""
        name = f"{prefix[:40]}-{secrets.token_hex(3)}"
        api = self.plane.api
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.plane.wait(
            lambda: api.find("v1", "ServiceAccount", "default", name), f"account in {name}", pause=0.02
        )
        return name

    def service(self, namespace: str, name: str, spec: dict[str, Any] | None = None, **meta: Any) -> Object:  # noqa: ANN401 - metadata fields
        """Build an LLMService of the test chart."""
        chart = {"repository": self.charts.url, "name": "textgen", "version": "0.1.0"}
        return {
            "apiVersion": API,
            "kind": "LLMService",
            "metadata": {"name": name, "namespace": namespace, **meta},
            "spec": {"chart": chart, **(spec or {})},
        }

    def find_service(self, namespace: str, name: str) -> Object | None:
        """Return an LLMService, None when it is gone."""
        return self.plane.api.find(API, "LLMService", name, namespace)

    def events(self, namespace: str) -> list[Object]:
        """Return the events of a namespace in the order in which they were written."""
        found = self.plane.api.list("v1", "Event", namespace)
        return sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))

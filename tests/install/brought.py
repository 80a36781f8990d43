"""The controller that a ServingStack brings, and one LLMService that it looks after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

from crossplane.function.resource import child_name

from controlplane.timeline import Ref, Timeline
from function import names
from install import kubelet
from operator_harness.world import API, TESTS
from support import registry
from support.world import CLUSTER, SYSTEM, World

if TYPE_CHECKING:
    from types import TracebackType

    from controlplane.kube import Object

NAMESPACE = "llm-operator-system"
ANOTHER = (NAMESPACE, "llmservice-controller")
"""Where the one is that kustomize installs."""
MODELS = "models"
SERVICE = (API, "LLMService")
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "llmservices.serving.modelsphere.dev")


def services(world: World) -> Object:
    """Return the part of an InferenceCluster's spec with one service, its chart in the plane's registry."""
    at = world.plane.packages.push_chart(TESTS / "charts" / "textgen")
    chart = {"oci": at, "plainHTTP": True, "name": "textgen", "version": "0.1.0"}
    values = {"route": {"enabled": False}, "replicas": 1}
    entry = {"namespace": MODELS, "name": f"{world.name}-chat", "chart": chart, "values": values}
    return {"services": [entry], "deletion": {"routeSettle": "0s"}}


class Brought:
    """The controller of one InferenceCluster that is up, and its service, recorded from now on."""

    def __init__(self, world: World) -> None:
        """Take the world, whose InferenceCluster is Ready: so the LLMService kind is there."""
        self.plane, self.world = world.plane, world
        self.name = f"mp-llm-operator-{names.digest(SYSTEM, world.stack)}"
        self.timeline = Timeline(world.plane.api, [SERVICE])
        self._kubelet = kubelet.stopping(self.plane, NAMESPACE, self.name)

    def __enter__(self) -> Self:
        """Start recording the service."""
        self.timeline.__enter__()
        self._kubelet.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the controller and the recording."""
        self._kubelet.__exit__(kind, error, trace)
        self.timeline.__exit__(kind, error, trace)

    @property
    def release(self) -> Ref:
        """The Release that installs it."""
        return Ref("Release", SYSTEM, child_name(self.world.stack, "llm-operator"))

    @property
    def carrier(self) -> Ref:
        """The Object that carries the service."""
        key = f"service-{MODELS}.{self.world.name}-chat"
        return Ref("Object", SYSTEM, child_name(self.world.name, key))

    def run(self, tag: str) -> None:
        """Wait until the chart of this version is installed, and run its image as the kubelet would."""
        self.plane.wait(lambda: self._image().endswith(f"/llm-operator:{tag}"), f"{self.name} is {tag}", 120)
        assert self._image().startswith(f"{registry.REGISTRY}/")
        registry.run_deployment(self.plane, NAMESPACE, self.name, kubelet.PATIENT)
        self.plane.wait(
            lambda: '"waiting for the lease"' in self._log(), f"the controller of {tag} runs", 120
        )

    def takes_over(self) -> None:
        """Wait until it leads; the service is ready, and as it was, when this returns."""
        self.plane.wait(self.leads, f"{self.name} leads", 120)
        self.is_served()
        assert self.service()["status"]["release"]["revision"] == 1

    def is_served(self) -> None:
        """Wait until the service is ready, by whichever controller."""
        self.plane.wait(self._ready, "the service is ready", 120)

    def leads(self) -> bool:
        """Say whether its last run leads; its log has all runs."""
        return "became leader" in self._log()

    def service(self) -> Object:
        """Return the LLMService."""
        return self.plane.api.get(*SERVICE, f"{self.world.name}-chat", MODELS)

    def gone_at(self) -> int:
        """Return the server's version at which the LLMService went."""
        (event,) = self.timeline.gone()
        return event.version

    def left(self) -> list[str]:
        """Return what is left of the chart in its namespace, and of its rights."""
        kinds = [
            ("apps/v1", "Deployment", NAMESPACE),
            ("v1", "ServiceAccount", NAMESPACE),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", None),
            ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", None),
        ]
        found = [item for kind in kinds for item in self.plane.api.list(*kind)]
        names_of = (item["metadata"]["name"] for item in found)
        return [name for name in names_of if self.name in name]

    def _image(self) -> str:
        found = self.plane.api.get("apps/v1", "Deployment", self.name, NAMESPACE)
        return str(found["spec"]["template"]["spec"]["containers"][0]["image"])

    def _log(self) -> str:
        return self.plane.logs(self.name).rpartition('"starting"')[2]

    def _ready(self) -> bool:
        status = self.plane.api.get(*CLUSTER, self.world.name).get("status", {})
        ready = partial(_has, status.get("conditions", []))
        return ready("ServicesReady") and self.service().get("status", {}).get("phase") == "Ready"


def _has(conditions: list[Object], kind: str) -> bool:
    return any((c["type"], c["status"]) == (kind, "True") for c in conditions)

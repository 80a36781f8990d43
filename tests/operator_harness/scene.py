"""What a case file describes besides the program under test: nodes, pods, and what happens to them."""

from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from controlplane.kube import ApiError, Object
from operator_harness.world import API, ROUTE_API, World


@dataclass
class Scene:
    """The objects of one case, in a namespace of its own."""

    world: World
    case: Object
    folder: Path
    namespace: str = ""

    @property
    def name(self) -> str:
        """The name of the service, and of its release."""
        return str(self.case.get("name", "sable"))

    def step(self, kind: str, argument: object) -> None:
        """Take one step, named as in a case file."""
        getattr(self, f"_step_{kind}")(argument)

    def set_nodes(self) -> None:
        """Make the nodes."""
        for node, ready in self.case.get("nodes", {"n1": True}).items():
            self._node(node, ready=ready)

    def set_pods(self) -> None:
        """Make the pods."""
        for pod in self.case.get("pods", []):
            self._pod(pod)

    def _node(self, name: str, *, ready: bool) -> None:
        api = self.world.plane.api
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self._node_name(name)}}
        api.apply(node)
        status = {"type": "Ready", "status": "True" if ready else "Unknown", "reason": "Test"}
        api.patch(node, {"status": {"conditions": [status]}}, "status")

    def _node_name(self, name: str) -> str:
        return f"{name}-{self.namespace[-6:]}"

    def _pod(self, row: Object) -> None:
        api = self.world.plane.api
        labels = row.get("labels", {"app.kubernetes.io/instance": self.name})
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": row["name"], "namespace": self.namespace, "labels": labels},
            "spec": {
                "nodeName": self._node_name(row.get("node", "n1")),
                "terminationGracePeriodSeconds": row.get("grace", 30),
                "containers": [{"name": "server", "image": "server"}],
            },
        }
        api.create(pod)
        api.patch(pod, {"status": {"phase": row.get("phase", "Running")}}, "status")

    def _step_delete(self, what: str) -> None:
        self.world.plane.api.delete(self._object(what))

    def _step_remove(self, what: str) -> None:
        """Make an object go at once, as its node or its own controller would."""
        obj = self._object(what)
        if obj["kind"] == "Pod":
            path = f"/api/v1/namespaces/{self.namespace}/pods/{obj['metadata']['name']}"
            self.world.plane.api.request("DELETE", path, {"gracePeriodSeconds": 0})
            return
        self.world.plane.api.patch(obj, {"metadata": {"finalizers": None}})

    def _step_node(self, nodes: dict[str, bool]) -> None:
        for name, ready in nodes.items():
            self._node(name, ready=ready)

    def _object(self, what: str) -> Object:
        kind, _, name = what.partition("/")
        versions = {"service": (API, "LLMService"), "pod": ("v1", "Pod"), "route": (ROUTE_API, "ModelRoute")}
        version, kind = versions[kind]
        obj = self.world.plane.api.get(version, kind, name or self.name, self.namespace)
        return {**obj, "apiVersion": version, "kind": kind}

    def _clean_up(self) -> None:
        api = self.world.plane.api
        for version, kind in ((API, "LLMService"), (ROUTE_API, "ModelRoute")):
            for obj in api.list(version, kind, self.namespace):
                if obj["metadata"].get("finalizers"):
                    api.patch(obj, {"metadata": {"finalizers": None}})
                if not obj["metadata"].get("deletionTimestamp"):
                    api.delete(obj)
        for pod in api.list("v1", "Pod", self.namespace):
            try:
                self._step_remove(f"pod/{pod['metadata']['name']}")
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise  # Else it went by itself.
        for node in self.case.get("nodes", {"n1": True}):
            api.request("DELETE", f"/api/v1/nodes/{self._node_name(node)}")

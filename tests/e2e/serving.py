"""An InferenceCluster with LLMServices: the real controller takes them down, in a namespace of their own.

Their charts run no pods; a service is held up by a finalizer on its ModelRoute, as by a route controller that
is slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from crossplane.function.resource import child_name

from controlplane.timeline import Ref
from operator_harness.controller import Controller
from operator_harness.world import API, ROUTE_API
from operator_harness.world import World as Operator
from support.world import CLUSTER, HOLD, OBJECT, SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from operator_harness.charts import Repository
    from support.world import World

Manifest = dict[str, Any]

SERVICE = (API, "LLMService")
ROUTE = (ROUTE_API, "ModelRoute")
SERVING_KINDS = (SERVICE, ROUTE)


class Serving:
    """A World, its services, and the controller that looks after them."""

    def __init__(self, world: World, charts: Repository, folder: Path) -> None:
        """Take the world; the controller is started on entry."""
        self.world, self.plane = world, world.plane
        self.charts = charts
        self.namespace = f"{world.name}-models"
        self.controller = Controller(Operator(world.plane, charts), folder, self.namespace)

    def __enter__(self) -> Self:
        """Start the controller."""
        self.controller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it; show its log when something failed."""
        if error is not None:
            error.add_note(f"controller: {self.controller.log_file.read_text()[-2000:]}")
        self.controller.close()

    def entry(self, name: str, **more: object) -> Manifest:
        """Return an entry of spec.services."""
        chart = {"repository": self.charts.url, "name": "textgen", "version": "0.1.0"}
        return {"namespace": self.namespace, "name": f"{self.world.name}-{name}", "chart": chart, **more}

    def up(
        self,
        *names: str,
        source: str = "EKS",
        composition: str = "",
        mode: str = "Cascade",
        **cluster: object,
    ) -> None:
        """Create the InferenceCluster with these services, and wait until all are ready."""
        services = [self.entry(name) for name in names]
        more = {"services": services, "deletion": {"routeSettle": "1s", "mode": mode}}
        self.world.up(source, composition, more, **cluster)
        self.plane.wait(self._services_ready, "the services are ready", 120, pause=0.5)

    def _services_ready(self) -> bool:
        return self.condition("ServicesReady")[0] == "True" and self.status().get("services") != []

    def cluster(self) -> Manifest:
        """Return the InferenceCluster as it is now, empty when it is gone."""
        return dict(self.plane.api.find(*CLUSTER, self.world.name) or {})

    def status(self) -> Manifest:
        """Return its status."""
        return dict(self.cluster().get("status") or {})

    def teardown(self) -> Manifest:
        """Return its status.teardown."""
        return dict(self.status().get("teardown") or {})

    def condition(self, kind: str) -> tuple[str, str, str]:
        """Return status, reason and message of one of its conditions, empty texts where it has none."""
        for entry in self.status().get("conditions", []):
            if entry["type"] == kind:
                return entry["status"], entry["reason"], entry.get("message", "")
        return "", "", ""

    def patch(self, body: Manifest) -> None:
        """Change the InferenceCluster."""
        head = {"apiVersion": CLUSTER[0], "kind": CLUSTER[1], "metadata": {"name": self.world.name}}
        self.plane.api.patch(head, body)

    def ref(self, name: str) -> Ref:
        """Return a service's LLMService."""
        return Ref("LLMService", self.namespace, f"{self.world.name}-{name}")

    def route(self, name: str) -> Ref:
        """Return a service's ModelRoute."""
        return Ref("ModelRoute", self.namespace, f"{self.world.name}-{name}")

    @property
    def provider_config(self) -> Ref:
        """The ProviderConfig of the services."""
        return Ref("ProviderConfig", SYSTEM, child_name(self.world.name, "services"))

    def carriers(self) -> list[Ref]:
        """Return the Objects that carry an LLMService, as far as they were seen."""
        found = {
            event.ref
            for event in self.world.timeline.events
            if event.ref.kind == OBJECT[1]
            and event.object["spec"]["forProvider"]["manifest"]["kind"] == "LLMService"
        }
        return sorted(found)

    def hold(self, name: str) -> Callable[[], None]:
        """Make a service's route refuse to go; returns what lets it go."""
        metadata = {"name": self.route(name).name, "namespace": self.namespace}
        route = {"apiVersion": ROUTE[0], "kind": ROUTE[1], "metadata": metadata}
        self.plane.api.patch(route, {"metadata": {"finalizers": [HOLD]}})

        def let_go() -> None:
            self.plane.api.patch(route, {"metadata": {"finalizers": None}})

        return let_go

    def usages_of_stack(self) -> int:
        """Count the Usages of the ServingStack by services."""
        found = self.plane.api.list("protection.crossplane.io/v1beta1", "Usage", SYSTEM)
        stack = self.world.stack
        return sum(u["spec"]["of"].get("resourceRef", {}).get("name") == stack for u in found)

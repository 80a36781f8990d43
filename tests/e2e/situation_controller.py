"""The situation in which nobody looks after LLMServices: the controller's Deployment is scaled to nothing.

No kubelet runs on the plane: once the printed command has scaled the Deployment, the real controller is
started as its pod would be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from e2e.zoo import Situation, head
from operator_harness.controller import Controller
from operator_harness.world import ACCOUNT, API, DEPLOY
from operator_harness.world import World as Operator

if TYPE_CHECKING:
    from e2e.zoo import Zoo
    from operator_harness.charts import Repository

SERVICE, DEPLOYMENT = (API, "LLMService"), ("apps/v1", "Deployment")
NAMESPACE = "zoo-models"


class Unattended:
    """The situation and the controller that ends it."""

    def __init__(self, charts: Repository) -> None:
        """Take the repository that the controller's world has."""
        self._charts = charts
        self._controller: Controller | None = None

    def situation(self) -> Situation:
        """Return it as a row."""
        objects = (f"Deployment {ACCOUNT[0]}/{ACCOUNT[1]}",)
        return Situation("unattended", "controller", lambda _: objects, self.breaks, self.ends, self.starts)

    def breaks(self, zoo: Zoo) -> None:
        """Install the controller, scale it to nothing, and make an LLMService."""
        deployment = yaml.safe_load((DEPLOY / "deployment.yaml").read_text())
        deployment["spec"]["replicas"] = 0
        zoo.api.apply(deployment)
        zoo.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        chart = {"repository": self._charts.url, "name": "textgen", "version": "0.1.0"}
        spec = {"chart": chart, "deletion": {"routeSettle": "1s"}}
        zoo.api.create({**head(SERVICE, "tide", NAMESPACE), "spec": spec})

    def starts(self, zoo: Zoo) -> None:
        """Run the controller as its first pod would be, once the Deployment asks for pods."""
        assert self._controller is None
        found = zoo.find(DEPLOYMENT, ACCOUNT[1], ACCOUNT[0])
        assert found is not None
        assert found["spec"]["replicas"] == 2
        self._controller = Controller(Operator(zoo.plane, self._charts), zoo.folder, NAMESPACE)
        self._controller.start()
        zoo.wait(self._controller.leads, "the controller leads")

    def ends(self, zoo: Zoo) -> None:
        """Let the controller take its LLMService away, and take the Deployment with it."""
        zoo.delete(SERVICE, "tide", NAMESPACE)
        zoo.gone(SERVICE, "tide", NAMESPACE)
        zoo.delete(DEPLOYMENT, ACCOUNT[1], ACCOUNT[0])
        self.close()

    def close(self) -> None:
        """Stop the controller."""
        if self._controller is not None:
            self._controller.close()

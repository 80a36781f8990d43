"""Runs an autoscaling case: a release, its policy, a load that Prometheus scrapes, and a loop that looks."""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from controlplane.kube import Object, wait_until
from operator_harness.world import PATIENCE
from prometheus_harness.exporter import NAME, Exporter
from prometheus_harness.server import Server as Prometheus
from release_api.names import AUTOSCALE_LABEL
from releases_harness.callers import await_right
from releases_harness.cases import Run
from releases_harness.seen import PLAN, POLICY
from releases_harness.server import Server

ROLE: Object = {
    "min": 1,
    "max": 9,
    "query": f'sum({NAME}{{release="RELEASE"}})',
    "target": 10,
    "cooldown": {"up": "0s", "down": "0s"},
}
_LOOKED = re.compile(r"^release_api_autoscale_last_look_timestamp_seconds (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Metrics:
    """What a case's load goes through."""

    exporter: Exporter
    prometheus: Prometheus


@dataclass
class ScaledRun(Run):
    """One run of one case; its namespace tells its series from those of others."""

    metrics: Metrics = field(kw_only=True)

    def __post_init__(self) -> None:
        """Let the server look every half second."""
        super().__post_init__()
        url = self.metrics.prometheus.url
        self.server.flags = ("--prometheus-url", url, "--autoscale-seconds", "0.5")

    # Steps.

    def _step_second(self, _argument: object) -> None:
        """Start a second replica of the server."""
        path = str(self.helm.path)
        other = Server(self.world, self.folder / "second", self.namespace, helm=path, flags=self.server.flags)
        self.stack.callback(other.close)
        other.start()

    def _step_load(self, load: float | dict[str, float]) -> None:
        """Set the load, of one pod or of those named, and wait until Prometheus knows it."""
        loads = load if isinstance(load, dict) else {"a": load}
        for pod, value in loads.items():
            self.metrics.exporter.set(self.namespace, value, pod)
        for pod, value in loads.items():
            query = f'{NAME}{{release="{self.namespace}", pod="{pod}"}}'
            self.metrics.prometheus.wait_for(query, f"{value:g}")

    def _step_policy(self, changes: Object) -> None:
        """Write the policy: that of all cases, with changes."""
        role: Object = {**ROLE, **changes}
        # Series of other cases are there too: a query that names none of them is meant for this one's.
        role["query"] = role["query"].replace("RELEASE", self.namespace)
        role["query"] = re.sub(rf"{NAME}(?!{{)", f'{NAME}{{release="{self.namespace}"}}', role["query"])
        meta = {"name": POLICY + self.name, "namespace": self.namespace, "labels": {AUTOSCALE_LABEL: "true"}}
        data = {"policy.yaml": yaml.safe_dump({"roles": {"server": role}})}
        self.world.plane.api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})

    def _step_looks(self, number: int) -> None:
        """Let the loop look so many times more, and once for the one that runs now."""
        for _ in range(number + 1):
            before = self._looked()
            wait_until(lambda before=before: self._looked() != before, "the loop looks", PATIENCE, 0.05)  # type: ignore[misc] # bound now

    def _step_revoke(self, account: str) -> None:
        """Leave an account the right to look, and no other."""
        kind = ("rbac.authorization.k8s.io/v1", "Role")
        found = self.world.plane.api.get(*kind, account, self.namespace)
        rules = [{**rule, "verbs": ["get", "list", "watch"]} for rule in found["rules"]]
        self.world.plane.api.patch({**found, "apiVersion": kind[0], "kind": kind[1]}, {"rules": rules})
        await_right(self.world, (self.namespace, account), ("", "secrets", "create"), allowed=False)

    def _step_scribble(self, _argument: object) -> None:
        """Name somebody powerful in the plan, as whoever can write ConfigMaps could."""
        api = self.world.plane.api
        plan = api.get("v1", "ConfigMap", PLAN + self.name, self.namespace)
        text = yaml.safe_load(plan["data"]["plan.yaml"])
        text["user"] = {"name": "admin", "groups": ["system:masters"]}
        patch = {"data": {"plan.yaml": yaml.safe_dump(text)}}
        api.patch({**plan, "apiVersion": "v1", "kind": "ConfigMap"}, patch)

    # What can be seen.

    def _see_replicas(self, _want: object) -> int | None:
        """Return the replicas that are applied: of the Deployment, or in the LLMService's values."""
        if self.backend == "llmsvc":
            service = self.world.find_service(self.namespace, self.name) or {}
            return service.get("spec", {}).get("values", {}).get("replicas")  # type: ignore[no-any-return] # JSON
        found = self.world.plane.api.find("apps/v1", "Deployment", self.name, self.namespace)
        return None if found is None else int(found["spec"]["replicas"])

    def _see_hold(self, want: str) -> str:
        """Return the row's holdReason, of it as much as is compared."""
        row: dict[str, Any] = self.client.row(self.namespace, self.name) or {}
        return str(row.get("holdReason", ""))[: len(want)]

    def _looked(self) -> str:
        found = _LOOKED.search(str(self.server.client("").call("GET", "/metrics").body))
        assert found is not None
        return found[1]

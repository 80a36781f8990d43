"""What can be seen of a case's release: through the API, and in the cluster."""

import contextlib
from dataclasses import dataclass, field
from typing import Any

from controlplane.kube import Object, wait_until
from operator_harness.helm_wrapper import HelmWrapper
from operator_harness.scene import Scene
from operator_harness.world import PATIENCE
from releases_harness.client import Answer, Client, UnavailableError
from releases_harness.server import Server

PLAN, POLICY = "swiss-plan-", "swiss-autoscale-"
ABSENT = "absent"


@dataclass
class Sights(Scene):
    """The release of a case, and its caller."""

    server: Server = field(init=False)
    helm: HelmWrapper = field(init=False)
    token: str = ""
    answers: list[Answer] = field(default_factory=list)

    @property
    def backend(self) -> str:
        """The release's backend."""
        return str(self.case.get("backend", "helm"))

    @property
    def client(self) -> Client:
        """The caller, of the present run of the server."""
        return self.server.client(self.token)

    @property
    def path(self) -> str:
        """The release's path."""
        return f"/api/releases/{self.namespace}/{self.name}"

    def _step_wait(self, want: Object) -> None:
        """Wait until something holds; a server that cannot tell just now is asked again."""
        last: Object = {}

        def arrived() -> bool:
            nonlocal last
            with contextlib.suppress(UnavailableError):
                last = self._seen(want)
            return last == want

        try:
            wait_until(arrived, str(want), PATIENCE, 0.05)
        except Exception as error:
            error.add_note(f"last seen: {last}")
            raise

    def _holds(self, want: Object) -> bool:
        return self._seen(want) == want

    def _seen(self, want: Object) -> Object:
        """Return what there is, of that which is wanted."""
        return {key: getattr(self, f"_see_{key}")(value) for key, value in want.items()}

    def _see_row(self, want: Object | str) -> Object | str:
        found = self.client.row(self.namespace, self.name)
        return ABSENT if found is None else _part(found, want)

    def _see_release(self, want: Object | int) -> Object | int:
        answer = self.client.call("GET", self.path)
        return _part(answer.body, want) if answer.status == 200 else answer.status

    def _see_plan(self, want: Object | str) -> Object | str:
        found = self.world.plane.api.find("v1", "ConfigMap", PLAN + self.name, self.namespace)
        if found is None:
            return ABSENT
        phase = found["metadata"]["labels"]["swiss.modelsphere.dev/phase"]
        return {"phase": phase} if isinstance(want, dict) else "there"

    def _see_sealed(self, _want: object) -> bool:
        plan = self.world.plane.api.get("v1", "ConfigMap", PLAN + self.name, self.namespace)
        return "seal" in plan["data"]

    def _see_policy(self, _want: object) -> bool:
        return self.world.plane.api.find("v1", "ConfigMap", POLICY + self.name, self.namespace) is not None

    def _see_archives(self, _want: object) -> list[str]:
        secrets = self.world.plane.api.list("v1", "Secret", self.namespace, labelSelector="owner=swiss")
        return sorted(secret["metadata"]["name"] for secret in secrets)

    def _see_record(self, _want: object) -> bool:
        selector = f"owner=helm,name={self.name}"
        return bool(self.world.plane.api.list("v1", "Secret", self.namespace, labelSelector=selector))

    def _see_runs(self, want: Object) -> Object:
        return {verb: len(self.helm.runs(verb)) for verb in want}

    def _see_service(self, _want: object) -> bool:
        return self.world.find_service(self.namespace, self.name) is not None

    def _see_lock(self, _want: object) -> bool:
        return bool(self.world.plane.api.list("coordination.k8s.io/v1", "Lease", self.namespace))

    def _see_audit(self, want: Object) -> Object:
        """Count the audit rows by verb and result: `audit: {uninstall removed: 1}`."""
        rows = self.client.call("GET", "/api/audit").body["items"]
        told = [f"{row['verb']} {row['result']}" for row in rows if row["release"] == self.name]
        return {what: told.count(what) for what in want}


def _part(found: Any, want: Any) -> Any:  # noqa: ANN401 - whatever a case compares
    """Return that part of a body which a case speaks of."""
    if not isinstance(want, dict) or not isinstance(found, dict):
        return found
    return {key: _part(found.get(key, ABSENT), value) for key, value in want.items()}

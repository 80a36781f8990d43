"""Runs a case file.

A service on a real API server, a controller of its own, steps, and what must hold at the end.

The service carries a finalizer of the test's, so that its last status can be read after ours is off, and so
that every case also sees that nothing touches an object that was let go of.
"""

import subprocess
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from controlplane.kube import Object, wait_until
from llm_operator.durations import parse_duration
from operator_harness import audit
from operator_harness.controller import Controller
from operator_harness.helm_wrapper import HelmWrapper
from operator_harness.scene import Scene
from operator_harness.world import FINALIZER, PATIENCE, ROUTE_API

HOLD = "example.test/hold"
PREFIX = "serving.modelsphere.dev/"


def load(path: Path) -> Object:
    """Read a case file."""
    case: Object = yaml.safe_load(path.read_text())
    return case


@dataclass
class Run(Scene):
    """One run of one case."""

    controller: Controller = field(init=False)
    helm: HelmWrapper = field(init=False)

    def __post_init__(self) -> None:
        """Give the run its namespace, helm wrapper and controller."""
        self.namespace = self.namespace or self.world.namespace(self.case["id"])
        self.helm = HelmWrapper.make(self.folder, self.world.plane.tools["helm"])
        self.controller = Controller(self.world, self.folder, self.namespace, helm=str(self.helm.path))

    def play(self) -> None:
        """Set up, take the steps, check."""
        try:
            self.set_up()
            for step in self.case["steps"]:
                ((kind, argument),) = step.items()
                self.step(kind, argument)
            self._check(self.case["then"])
        finally:
            self.end()

    def end(self) -> None:
        """End the controller and let go of everything that would keep the namespace."""
        self.controller.close()
        self._clean_up()

    def service(self) -> Object | None:
        """Return the service as it is now."""
        return self.world.find_service(self.namespace, self.name)

    def events(self) -> list[Object]:
        """Return the events about the service so far."""
        return self.world.events(self.namespace)

    def status(self) -> Object:
        """Return the service's status, empty when there is none."""
        return dict((self.service() or {}).get("status") or {})

    def set_up(self, **env: str) -> None:
        """Make nodes, service and pods; start the controller; wait for the release."""
        self.set_nodes()
        service = self.world.service(
            self.namespace,
            self.name,
            {"values": self.case.get("values", {}), **self.case.get("spec", {})},
            finalizers=[HOLD, *self.case.get("finalizers", [])],
            annotations={PREFIX + key: text for key, text in self.case.get("annotations", {}).items()},
        )
        if self.case.get("foreign"):
            self._foreign()
        self.controller.start(**env)
        self.world.plane.api.create(service)
        if self.case.get("installed", True):
            self._step_wait({"phase": "Ready"})
        self.set_pods()

    def _foreign(self) -> None:
        """Install a release of the service's name as somebody else would."""
        plane, chart = self.world.plane, self.world.charts.folder / "textgen-0.1.0.tgz"
        argv = [plane.tools["helm"], "install", self.name, str(chart), "--namespace", self.namespace]
        subprocess.run([*argv, "--kubeconfig", str(plane.kubeconfig)], check=True, capture_output=True)

    # Steps. A wait polls until a condition holds, a hold sees it hold for a while; nothing else takes time.

    def _step_annotate(self, annotations: dict[str, str]) -> None:
        named = {PREFIX + key: text for key, text in annotations.items()}
        self.world.plane.api.patch(self._object("service"), {"metadata": {"annotations": named}})

    def _step_spec(self, spec: Object) -> None:
        self.world.plane.api.patch(self._object("service"), {"spec": spec})

    def _step_clock(self, text: str) -> None:
        self.controller.move_clock(parse_duration(text).total_seconds())

    def _step_restart(self, how: str) -> None:
        self.controller.kill() if how == "kill" else self.controller.stop()
        self.controller.start()

    def _step_stop(self, _argument: object) -> None:
        self.controller.stop()

    def _step_helm(self, row: Object) -> None:
        if row.get("fails"):
            self.helm.fail(row["verb"], row["fails"], once=row.get("once", False))
        else:
            self.helm.heal(row["verb"])

    def _step_wait(self, want: Object) -> None:
        what = f"{self.case['id']}: {want}, last seen {{}}"
        try:
            wait_until(lambda: self._holds(want), what, PATIENCE, 0.05)
        except Exception as error:
            error.add_note(f"status: {self.status()}\nlog: {self.controller.log_file.read_text()[-3000:]}")
            raise

    def _step_hold(self, want: Object) -> None:
        """See that something stays as it is although the controller could act: for half a second."""
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            assert self._holds(want), f"{self.case['id']}: {want} does not hold: {self.status()}"
            time.sleep(0.05)

    def _holds(self, want: Object) -> bool:
        return all(self._one_holds(key, value) for key, value in want.items())

    def _one_holds(self, key: str, value: Any) -> bool:  # noqa: ANN401 - whatever a case compares with
        status = self.status()
        deletion = status.get("deletion") or {}
        looks = {
            "phase": status.get("phase"),
            "reason": self._reason(status, "Deleting"),
            "ready": self._reason(status, "Ready"),
            "deleting": "deletion" in status,
            "held": self.held,
            "generation_seen": self._generation_seen,
            "release_held": self._release_held,
            "route_finalizers": self._route_finalizers,
        }
        if key == "event":
            return any(event["reason"] == value for event in self.events())
        if key == "message":
            return value in deletion.get("message", "")
        look = looks.get(key, deletion.get(key))
        return bool((look() if callable(look) else look) == value)

    def held(self) -> bool:
        """Say whether our finalizer is on."""
        return FINALIZER in ((self.service() or {}).get("metadata") or {}).get("finalizers", [])

    def _generation_seen(self) -> bool:
        service = self.service() or {}
        return bool(
            service["metadata"]["generation"] == (service.get("status") or {}).get("observedGeneration")
        )

    def _release_held(self) -> bool:
        secrets = self.world.plane.api.list("v1", "Secret", self.namespace, labelSelector=f"name={self.name}")
        return bool(secrets)

    def _route_finalizers(self) -> list[str] | None:
        """Return the finalizers of the release's route, None when it is gone."""
        route = self.world.plane.api.find(ROUTE_API, "ModelRoute", self.name, self.namespace)
        return None if route is None else list(route["metadata"].get("finalizers") or [])

    @staticmethod
    def _reason(status: Object, kind: str) -> str | None:
        return next((c["reason"] for c in status.get("conditions", []) if c["type"] == kind), None)

    # Checks

    def _check(self, then: Object) -> None:
        status = self.status()
        for key, value in then.get("status", {}).items():
            assert self._one_holds(key, value), f"{key} is not {value!r}: {status}"
        for start, end, least, most in then.get("between", []):
            apart = self._moment(status, end) - self._moment(status, start)
            assert least <= apart <= most, f"{start} to {end}: {apart} s, not {least} to {most}"
        events = [event["reason"] for event in self.events()]
        if "events" in then:
            assert events == then["events"]
        self._check_calls(then)
        assert self.controller.complaints() == []

    def _check_calls(self, then: Object) -> None:
        made = [str(call) for call in audit.changes(self.world.plane, self.namespace)]
        position = -1
        for call in then.get("order", []):
            assert call in made[position + 1 :], f"{call} does not come after what it should: {made}"
            position = made.index(call, position + 1)
        for call, number in then.get("counts", {}).items():
            verb = call.removeprefix("helm run ")
            seen = len(self.helm.runs(verb)) if call.startswith("helm run ") else made.count(call)
            assert seen == number, f"{call}: {seen} times, not {number}: {made}"

    @staticmethod
    def _moment(status: Object, name: str) -> float:
        return datetime.fromisoformat(status["deletion"][name]).timestamp()

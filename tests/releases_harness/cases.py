"""Runs a case file: a release on a real API server, a server of its own, steps, and what must hold."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.kube import ApiError, Object, wait_until
from llm_operator.durations import parse_duration
from operator_harness import audit
from operator_harness.controller import Controller
from operator_harness.helm_wrapper import HelmWrapper
from operator_harness.proxy import Fault, Proxy, proxied
from operator_harness.world import FINALIZER, PATIENCE
from releases_harness.callers import SERVER, caller
from releases_harness.client import Answer
from releases_harness.seen import ABSENT, PLAN, POLICY, Sights
from releases_harness.server import Server

HOLD = "example.test/hold"


@dataclass
class Run(Sights):
    """One run of one case."""

    controller: Controller | None = None
    background: list[threading.Thread] = field(default_factory=list)
    proxy: Proxy | None = None
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __post_init__(self) -> None:
        """Give the run its namespace, helm wrapper, caller and server."""
        self.namespace = self.namespace or self.world.namespace(self.case["id"])
        self.helm = HelmWrapper.make(self.folder, self.world.plane.tools["helm"])
        self.token = caller(self.world, self.namespace, "caller")
        self.server = Server(self.world, self.folder / "api", self.namespace, helm=str(self.helm.path))

    def play(self) -> None:
        """Set up, take the steps, check."""
        try:
            self.set_up()
            for number, step in enumerate(self.case["steps"]):
                ((kind, argument),) = step.items()
                try:
                    self.step(kind, argument)
                except Exception as error:
                    error.add_note(f"{self.case['id']}, step {number}: {step}\n{self.told()}")
                    raise
            self._check(self.case.get("then", {}))
        finally:
            self.end()

    def told(self) -> str:
        """Return what helps to understand a failure."""
        log = self.server.log_file.read_text()[-4000:] if self.server.log_file.exists() else ""
        return f"answers: {self.answers[-3:]}\nlog: {log}"

    def end(self) -> None:
        """End the processes and let go of everything that would keep the namespace."""
        for verb in ("install", "upgrade", "uninstall", "rollback"):
            self.helm.heal(verb)
        self.server.close()
        for thread in self.background:
            thread.join(10)
        if self.controller is not None:
            self.controller.close()
        self.stack.close()
        self._clean_up()

    def set_up(self) -> None:
        """Make nodes and pods; start server and, for LLMServices, whatever plays its controller; install."""
        self.set_nodes()
        self._start_server()
        if self.case.get("controller") == "real":
            self._start_controller()
        if self.case.get("installed", True):
            self._install()
        self.set_pods()
        for archive in self.case.get("archives", []):
            self._archive(archive)
        if self.case.get("autoscale"):
            self._policy()

    def _start_server(self) -> None:
        if self.case.get("proxied"):
            self.server.folder.mkdir(exist_ok=True)
            self.proxy = self.stack.enter_context(proxied(self.world.plane, self.server.folder, SERVER))
            self.server.kubeconfig = self.proxy.kubeconfig
        self.server.start()

    def _start_controller(self) -> None:
        self.controller = Controller(self.world, self.folder, self.namespace, helm=str(self.helm.path))
        self.controller.start()

    def body(self, **more: object) -> Object:
        """Return the body of an install or upgrade."""
        chart = {"name": "textgen", "version": "0.1.0", "repository": self.world.charts.url}
        values = {"route": {"enabled": False}, **self.case.get("values", {})}
        return {"chart": chart, "values": values, **more}

    def _install(self) -> None:
        answer = self.client.call("POST", self.path, self.body(backend=self.backend))
        assert answer.status in (200, 202), answer
        assert answer.body["phase"] != "failed", answer
        if self.backend == "llmsvc":
            self._prepare_service()

    def _prepare_service(self) -> None:
        """Give the LLMService what a controller would: its finalizer, a status; or wait for the real one."""
        if self.controller is not None:
            self._step_wait({"row": {"phase": "ready"}})
            return
        service = self._object("service")
        finalizers = self.case.get("finalizers", [FINALIZER])
        self.world.plane.api.patch(service, {"metadata": {"finalizers": finalizers}})
        self.world.plane.api.patch(service, {"status": {"phase": "Ready"}}, "status")
        self._step_wait({"row": {"phase": "ready"}})

    def _archive(self, row: Object) -> None:
        labels = {"owner": "swiss", "swiss.modelsphere.dev/release": row.get("release", self.name)}
        meta = {"name": row["name"], "namespace": self.namespace, "labels": labels}
        self.world.plane.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})

    def _policy(self) -> None:
        meta = {"name": POLICY + self.name, "namespace": self.namespace}
        self.world.plane.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

    # Steps.

    def _step_do(self, row: Object) -> None:
        """Send a request and compare its answer: `do: {DELETE: {status: 200, ...}}`."""
        ((what, want),) = row.items()
        answer = self.send(what)
        self.answers.append(answer)
        _compare(answer, want)

    def send(self, what: str) -> Answer:
        """Send a request of the case's release."""
        method, _, kind = what.partition(" ")
        if kind == "rollback":
            return self.client.call("POST", f"{self.path}/rollback", {})
        bodies = {"POST": self.body(backend=self.backend), "PUT": self.body()}
        return self.client.call(method, self.path, bodies.get(method))

    def _step_begin(self, what: str) -> None:
        """Send a request without waiting for its answer."""
        client = self.client

        def send() -> None:
            with contextlib.suppress(Exception):  # The server may be killed under it.
                method, _, _ = what.partition(" ")
                bodies = {"POST": self.body(backend=self.backend), "PUT": self.body()}
                client.call(method, self.path, bodies.get(method))

        self.background.append(threading.Thread(target=send, daemon=True))
        self.background[-1].start()

    def _step_check(self, want: Object) -> None:
        """See that something holds now."""
        found = self._seen(want)
        assert found == want, f"{found} is not {want}"

    def _step_hold(self, want: Object) -> None:
        """See that something stays as it is, although the loop looks: over two of its rounds."""
        for _ in range(2):
            self._step_tick(None)
            assert self._holds(want), f"{want} does not hold: {self._seen(want)}"

    def _step_tick(self, _argument: object) -> None:
        """Let the check loop look, by moving the clock to its next round."""
        self.server.move_clock(5.1)
        time.sleep(0.3)

    def _step_clock(self, text: str) -> None:
        self.server.move_clock(parse_duration(text).total_seconds())

    def _step_restart(self, how: str) -> None:
        self.server.kill() if how == "kill" else self.server.stop()
        for thread in self.background:
            thread.join(10)
        self.server.start()

    def _step_stop(self, how: str) -> None:
        self.server.kill() if how == "kill" else self.server.stop()

    def _step_start(self, _argument: object) -> None:
        self.server.start()

    def _step_helm(self, row: Object) -> None:
        verb = row["verb"]
        if row.get("fails"):
            self.helm.fail(verb, row["fails"])
        elif row.get("hangs"):
            self.helm.hang(verb)
        else:
            self.helm.heal(verb)

    def _step_fault(self, row: Object) -> None:
        assert self.proxy is not None
        path = row["path"].replace("NAME", self.name).replace("NS", self.namespace)
        self.proxy.add(
            Fault(row["method"], path, times=row.get("times"), status=row["status"], body=row["body"])
        )

    def _step_heal(self, _argument: object) -> None:
        assert self.proxy is not None
        self.proxy.faults.clear()

    def _step_values(self, values: Object) -> None:
        """Apply these values from now on."""
        self.case = {**self.case, "values": values}

    def _step_pod(self, row: Object) -> None:
        self._pod(row)

    def _step_forget(self, _argument: object) -> None:
        """Drop helm's record, and nothing else, as an uninstall does that fails half-way."""
        api = self.world.plane.api
        for secret in api.list("v1", "Secret", self.namespace, labelSelector=f"owner=helm,name={self.name}"):
            api.delete(secret)

    def _step_status(self, status: Object) -> None:
        """Write the LLMService's status, as its controller would."""
        self.world.plane.api.patch(self._object("service"), {"status": status}, "status")

    def _step_unlock(self, _argument: object) -> None:
        """Take a dead server's lease away, as its running out would."""
        api = self.world.plane.api
        for lease in api.list("coordination.k8s.io/v1", "Lease", self.namespace):
            api.delete(lease)

    def _step_forge(self, user: Object) -> None:
        """Put somebody powerful into the plan, as whoever can write ConfigMaps could."""
        plan = self.world.plane.api.get("v1", "ConfigMap", PLAN + self.name, self.namespace)
        phase = user.pop("phase", "uninstalling")
        status = {"phase": phase, "by": user, "since": "2031-05-06T10:00:00+00:00"}
        labels = {"swiss.modelsphere.dev/phase": phase}
        patch = {"metadata": {"labels": labels}, "data": {"status.yaml": json.dumps(status)}}
        self.world.plane.api.patch({**plan, "apiVersion": "v1", "kind": "ConfigMap"}, patch)

    def _step_recreate(self, how: str) -> None:
        """Let the LLMService go, unless it is the first, and make another of its name at once."""
        gone = lambda: self.world.find_service(self.namespace, self.name) is None  # noqa: E731 - one condition
        with self.server.paused():  # It sees both: between them the release would be gone.
            if how != "first":
                self._step_remove("service")
            wait_until(gone, "the old object is gone", PATIENCE, 0.02)
            self.world.plane.api.create(self.world.service(self.namespace, self.name, finalizers=[HOLD]))

    # Checks

    def _check(self, then: Object) -> None:
        assert self.server.complaints() == []
        refused = [c for c in self._server_calls() if c.code == 403]
        assert refused == [], "a permission is missing"
        for verb, number in then.get("runs", {}).items():
            assert len(self.helm.runs(verb)) == number, self.helm.runs(verb)

    def _server_calls(self) -> Iterator[audit.Call]:
        user = f"system:serviceaccount:{SERVER[0]}:{SERVER[1]}"
        return (call for call in audit.calls(self.world.plane, self.namespace) if call.who == user)

    def _clean_up(self) -> None:
        super()._clean_up()
        with contextlib.suppress(ApiError):
            namespace: Object = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": self.namespace},
            }
            self.world.plane.api.delete(namespace)


def _compare(answer: Answer, want: Object) -> None:
    for key, value in want.items():
        if key == "status":
            assert answer.status == value, answer
        elif key == "has":
            assert value in answer.output, answer
        else:
            found = answer.body.get(key, ABSENT)
            assert found == value, f"{key}: {found!r} is not {value!r}: {answer}"


def cases(folder: Path) -> list[Path]:
    """Return the case files of a folder."""
    return sorted(folder.glob("*.yaml"))

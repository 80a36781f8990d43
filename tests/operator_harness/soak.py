"""Kills the controller at random moments over many teardowns.

`python -m operator_harness.soak [KILLS] [TEARDOWNS]`: real helm, a real API server. At the end each teardown
must have ended as if nothing had been: Clean, each event once, nothing left, nothing done twice to harm.
"""

import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.kube import Object, wait_until
from operator_harness import audit, charts, planes
from operator_harness.controller import Controller
from operator_harness.helm_wrapper import HelmWrapper
from operator_harness.world import API, FINALIZER, ROUTE_API, TESTS, World

HOLD = "example.test/hold"
LIMIT = 900.0
MUST = ("RouteRemoving", "RouteSettling", "Uninstalled", "Released")
MAY = ("WaitingForPods",)
OFTEN = 0.8
"""Part of the kills that hit a controller that acts; the others hit one that starts."""


@dataclass
class Soak:
    """One run."""

    world: World
    folder: Path
    teardowns: int
    random: random.Random
    namespace: str = field(init=False)
    helm: HelmWrapper = field(init=False)
    controller: Controller = field(init=False)

    def __post_init__(self) -> None:
        """Make the namespace, the node and the controller."""
        self.namespace = self.world.namespace("soak")
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        self.world.plane.api.apply(node)
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        self.world.plane.api.patch(node, {"status": status}, "status")
        self.helm = HelmWrapper.make(self.folder, self.world.plane.tools["helm"])
        self.controller = Controller(self.world, self.folder, self.namespace, helm=str(self.helm.path))

    def names(self) -> list[str]:
        """Return the names of all services."""
        return [f"s{number:02d}" for number in range(self.teardowns)]

    def install(self) -> None:
        """Create the services and wait for their releases; each gets a pod."""
        spec = {"deletion": {"routeSettle": "20s"}}
        self.controller.start()
        for name in self.names():
            self.world.plane.api.create(self.world.service(self.namespace, name, spec, finalizers=[HOLD]))
        wait_until(self._all_ready, "all ready", LIMIT)
        for name in self.names():
            self.world.plane.api.create(_pod(self.namespace, name))

    def services(self) -> list[Object]:
        """Return all services, each with a status."""
        return [{"status": {}, **obj} for obj in self.world.plane.api.list(API, "LLMService", self.namespace)]

    def _all_ready(self) -> bool:
        return all(service["status"].get("phase") == "Ready" for service in self.services())

    def torment(self, kills: int) -> None:
        """Delete services and end pods here and there, and kill the controller at random moments."""
        waiting, pods = self.names(), self.names()
        for number in range(kills):
            if waiting and self.random.random() < 2 * self.teardowns / kills:
                self._delete(waiting.pop(self.random.randrange(len(waiting))))
            gone = [name for name in pods if name not in waiting]
            if gone and self.random.random() < 2 * self.teardowns / kills:
                self._end_pod(gone[0])
                pods.remove(gone[0])
            if self.random.random() < OFTEN:
                wait_until(self.controller.leads, "it leads again", LIMIT, 0.02)
            self.controller.move_clock(self.random.uniform(0, 8))
            time.sleep(self.random.uniform(0.0, 1.0))  # The random moment is the point of it.
            self.controller.kill()
            self.controller.start()
            sys.stdout.write(f"\rkill {number + 1} of {kills}")
            sys.stdout.flush()
        for name in waiting:
            self._delete(name)
        for name in pods:
            self._end_pod(name)

    def finish(self) -> None:
        """Let the rest come to its end."""

        def done() -> bool:
            self.controller.move_clock(3)
            return not any(FINALIZER in s["metadata"]["finalizers"] for s in self.services())

        wait_until(done, "every finalizer is off", LIMIT, 0.5)

    def faults(self) -> list[str]:
        """Return what is not as it would have been without the kills."""
        found = [fault for service in self.services() for fault in self._faults(service)]
        routes = self.world.plane.api.list(ROUTE_API, "ModelRoute", self.namespace)
        records = self.world.plane.api.list("v1", "Secret", self.namespace, labelSelector="owner=helm")
        found += [f"{obj['kind']} {obj['metadata']['name']} is left" for obj in (*routes, *records)]
        return found + [str(complaint) for complaint in self.controller.complaints()]

    def _faults(self, service: Object) -> list[str]:
        name = service["metadata"]["name"]
        outcome = service["status"].get("deletion", {}).get("outcome")
        about = [e for e in self.world.events(self.namespace) if e["involvedObject"]["name"] == name]
        reasons = sorted(event["reason"] for event in about)
        patches = [c for c in audit.changes(self.world.plane, self.namespace) if c.name == name]
        finalizers = [c for c in patches if str(c) == "controller patch llmservices"]
        checks = {
            f"outcome {outcome}": outcome == "Clean",
            f"events {reasons}": reasons in (sorted(MUST), sorted((*MUST, *MAY))),
            f"{len(finalizers)} finalizer patches": len(finalizers) == 2,
            "installed more than once": sum(f" {name} " in run for run in self.helm.runs("install")) == 1,
        }
        return [f"{name}: {fault}" for fault, fine in checks.items() if not fine]

    def _delete(self, name: str) -> None:
        self.world.plane.api.delete(self.world.service(self.namespace, name))

    def _end_pod(self, name: str) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        self.world.plane.api.request("DELETE", path, {"gracePeriodSeconds": 0})


def _pod(namespace: str, name: str) -> Object:
    labels = {"app.kubernetes.io/instance": name}
    spec = {"nodeName": "n1", "containers": [{"name": "server", "image": "server"}]}
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def main() -> None:
    """Run it and print what came of it; exit code 1 for any fault."""
    given = [int(text) for text in sys.argv[1:]]
    kills, teardowns = (*given, 200, 50)[0], (*given[1:], 50)[0]
    seed = random.randrange(10**6)  # noqa: S311 - not cryptography
    with tempfile.TemporaryDirectory() as text, planes.lone() as plane:
        folder = Path(text)
        (folder / "charts").mkdir()
        with charts.serve(plane.tools["helm"], TESTS / "charts", folder / "charts") as repository:
            soak = Soak(World(plane, repository), folder, teardowns, random.Random(seed))  # noqa: S311 - not cryptography
            try:
                soak.install()
                soak.torment(kills)
                soak.finish()
                faults = soak.faults()
            finally:
                soak.controller.close()
    sys.stdout.write(f"\n{kills} kills over {teardowns} teardowns (seed {seed}): {len(faults)} faults\n")
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()

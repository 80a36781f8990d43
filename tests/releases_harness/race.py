"""Two servers, a few releases, and many callers who want different things of them at the same time."""

import contextlib
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from urllib3.exceptions import HTTPError

from controlplane.kube import Object, wait_until
from operator_harness.world import PATIENCE, World
from releases_harness.callers import caller
from releases_harness.client import Answer
from releases_harness.fake_helm import FakeHelm
from releases_harness.server import Server

PHASE = "swiss.modelsphere.dev/phase"
CALLERS = 8
ALLOWED = (200, 404, 409)
SEED = 20311


@dataclass
class Race:
    """One race in a namespace of its own."""

    world: World
    folder: Path
    releases: int
    lock_seconds: float = 60.0
    namespace: str = ""
    servers: list[Server] = field(default_factory=list)
    events: list[tuple[str, str, str]] = field(default_factory=list)
    """Type, UID and phase of each change of a plan, in their order."""

    def __post_init__(self) -> None:
        """Start two servers, each on its port, with one fake helm."""
        self.namespace = self.world.namespace("race")
        self.helm = FakeHelm(self.world.plane, self.folder / "helm", delay=0.02)
        self.token = caller(self.world, self.namespace, "caller")
        for number in range(2):
            folder = self.folder / f"server-{number}"
            server = Server(self.world, folder, self.namespace, helm=str(self.helm.path), movable=False)
            server.lock_seconds = self.lock_seconds
            self.servers.append(server)
            server.start()
        plans = self.world.plane.api.request("GET", f"/api/v1/namespaces/{self.namespace}/configmaps?limit=1")
        version = plans["metadata"]["resourceVersion"]
        threading.Thread(target=self._watch, args=(version,), daemon=True).start()

    def path(self, number: int) -> str:
        """Return a release's path."""
        return f"/api/releases/{self.namespace}/r{number:02d}"

    def body(self) -> Object:
        """Return what is applied."""
        chart = {"name": "textgen", "version": "0.1.0", "repository": self.world.charts.url}
        return {"chart": chart, "values": {}}

    def run(self, number: int) -> Counter[str]:
        """Let callers ask for so many things; count the answers by method and status."""
        chance = random.Random(SEED)  # noqa: S311 - a repeatable mix
        methods = chance.choices(("PUT", "DELETE", "POST"), (4, 4, 3), k=number)
        asked = [(method, chance.randrange(self.releases), chance.randrange(2)) for method in methods]
        clients = [server.client(self.token) for server in self.servers]

        def ask(what: tuple[str, int, int]) -> str:
            method, release, server = what
            body = None if method == "DELETE" else self.body()
            return f"{method} {clients[server].call(method, self.path(release), body).status}"

        with ThreadPoolExecutor(CALLERS) as pool:
            return Counter(pool.map(ask, asked))

    def settle(self) -> None:
        """Delete what is left, and wait until nothing is listed by either server."""
        for number in range(self.releases):
            wait_until(partial(self._deleted, number), f"r{number:02d} is deleted", PATIENCE)
        for server in self._alive():
            wait_until(partial(self._empty, server), "nothing is listed", PATIENCE)

    def _alive(self) -> list[Server]:
        return [server for server in self.servers if not server.dead]

    def _empty(self, server: Server) -> bool:
        return not server.client(self.token).rows(self.namespace)

    def _deleted(self, number: int) -> bool:
        answer = self._alive()[0].client(self.token).call("DELETE", self.path(number))
        return answer.status == 404 or answer.body.get("phase") == "uninstalling"

    def violations(self) -> list[str]:
        """Return what must not happen and did."""
        found = [f"{one} and {two} at the same time" for one, two in self.helm.overlaps()]
        last: dict[str, str] = {}
        for kind, uid, phase in self.events:
            if kind != "DELETED" and last.get(uid) == "uninstalling" and phase in ("applied", "installing"):
                found.append(f"the marker of plan {uid} was overwritten by {phase}")
            last[uid] = phase
        return found

    def takeover(self) -> tuple[float, Answer]:
        """Kill a server whose helm runs; return how long its lock held the other back, and the answer."""
        first, second = self.servers
        held = self.helm.held["r00"] = threading.Event()
        path = self.path(0)
        sender = threading.Thread(target=self._lost, args=(first, path), daemon=True)
        assert first.client(self.token).call("POST", self.path(1), self.body()).status == 200
        sender.start()
        wait_until(lambda: "install r00" in self.helm.asked, "helm runs", PATIENCE, 0.02)
        (child,) = first.children()
        answer = second.client(self.token).call("DELETE", path)
        assert (answer.status, answer.output) == (409, "apply in progress"), answer
        first.kill()
        began = time.monotonic()
        gone = lambda: not Path(f"/proc/{child}").exists()  # noqa: E731 - one condition
        wait_until(gone, "the helm child is dead before the lock runs out", self.lock_seconds, 0.01)
        held.set()
        del self.helm.held["r00"]

        def taken() -> Answer | None:
            last = second.client(self.token).call("DELETE", path)
            return last if last.status == 200 else None

        last = wait_until(taken, "the other server takes the lock over", PATIENCE, 0.1)
        assert last is not None
        return time.monotonic() - began, last

    def _lost(self, server: Server, path: str) -> None:
        try:
            server.client(self.token).call("POST", path, self.body())
        except Exception:  # noqa: BLE001 - the server is killed under it
            return

    def _watch(self, version: str) -> None:
        events = self.world.plane.api.watch("v1", "ConfigMap", version, self.namespace, 1800)
        with contextlib.suppress(HTTPError):  # The plane ends before the watch does.
            for kind, obj in events:
                phase = (obj["metadata"].get("labels") or {}).get(PHASE)
                if phase:
                    self.events.append((kind, obj["metadata"]["uid"], phase))

    def close(self) -> None:
        """End the servers."""
        for server in self.servers:
            server.close()

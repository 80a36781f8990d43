"""Measures the release API: `python -m releases_harness.bench [--releases N] [--seconds S]`.

helm is a fast fake, here and in the race only. The machine is shared, so latencies are only compared within
one run: the list and a bare route that returns the same bytes are asked in turn.
"""

import argparse
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from controlplane.kube import Object, wait_until
from controlplane.plane import Plane
from operator_harness import planes
from operator_harness.charts import Repository
from operator_harness.crowd import each
from operator_harness.world import World
from release_api.models import Backend, ChartSource, Phase
from release_api.plan import Plan, Status, User, to_api
from release_api.seal import Seal
from releases_harness import callers
from releases_harness.client import Client
from releases_harness.fake_helm import FakeHelm, record
from releases_harness.server import Server

NAMESPACES = 20
ROUNDS, PER_ROUND = 20, 10
AT_ONCE = 200
LIMIT = 600.0
CHART = ChartSource(name="textgen", version="0.1.0", repository="http://charts.invalid")
CLUSTER = "system:serviceaccount"


@dataclass
class Bench:
    """A plane full of releases, and a server."""

    plane: Plane
    folder: Path
    number: int

    def __post_init__(self) -> None:
        """Make the releases, the caller and the server."""
        callers.install(self.plane)
        self.helm = FakeHelm(self.plane, self.folder / "helm")
        self.keys = [(f"bench-{n % NAMESPACES:02d}", f"r{n:05d}") for n in range(self.number)]
        for name in sorted({namespace for namespace, _ in self.keys}):
            self.plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        each(self._one, self.keys)
        self.server = Server(World(self.plane, Repository("", self.folder)), self.folder / "server")
        self.server.helm, self.server.movable = str(self.helm.path), False
        self.server.start()
        self.client = self.server.client(self._caller())

    def _one(self, key: tuple[str, str]) -> None:
        user = User(f"{CLUSTER}:bench-00:caller")
        plan = Plan(key, Backend.HELM, CHART, user, Status(Phase.APPLIED))
        self.plane.api.create(to_api(plan, Seal(b"none yet")))
        self.plane.api.create(record(key, 1))

    def _caller(self) -> str:
        """Make an account that may do everything everywhere."""
        rbac = "rbac.authorization.k8s.io"
        account = {"name": "caller", "namespace": "bench-00"}
        binding: Object = {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "bench-caller"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", **account}],
        }
        self.plane.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        self.plane.api.apply(binding)
        return self.plane.token(("bench-00", "caller"), callers.AUDIENCE)


def main() -> None:
    """Run it all on a plane of its own and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    with planes.lone() as plane, tempfile.TemporaryDirectory() as folder:
        bench = Bench(plane, Path(folder), options.releases)
        try:
            _list(bench)
            _uninstalls(bench)
            _memory(bench, options.seconds)
        finally:
            bench.server.close()
        if bench.server.complaints():
            raise SystemExit(f"the server complained: {bench.server.complaints()[:3]}")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _list(bench: Bench) -> None:
    """Compare the list with a bare route, in turn."""
    rows = bench.client.rows()
    before = _errorless_calls(bench)
    body = bench.folder / "body.json"
    url = f"{bench.server.url}/api/deployments"
    answer = bench.client.pool.request("GET", url, headers=_headers(bench.client))
    body.write_bytes(answer.data)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    tls = bench.server.folder / "tls"
    argv = [sys.executable, "-m", "releases_harness.bare_route", str(body), str(port), str(tls)]
    bare = subprocess.Popen(argv)
    try:
        other = Client(f"https://127.0.0.1:{port}", "", bench.server.ca)
        wait_until(partial(_answers, other), "the bare route answers", 30)
        ours, theirs = _in_turn(partial(_get, bench.client), partial(_get, other))
    finally:
        bare.kill()
        bare.wait()
    say(f"{len(rows)} releases listed, {len(answer.data) / 1024:.0f} KiB, {len(ours)} requests each, in turn")
    for name, times in (("bare route", theirs), ("list", ours)):
        say(f"  {name:10}  median {statistics.median(times) * 1e3:6.2f} ms   p99 {_p99(times) * 1e3:6.2f} ms")
    ratio = statistics.median(ours) / statistics.median(theirs)
    say(f"  ratio       {ratio:.2f} x of the medians (goal 1.5)")
    say(f"  calls of the API server meanwhile: {_errorless_calls(bench) - before}")


def _in_turn(ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[list[float], list[float]]:
    one: list[float] = []
    two: list[float] = []
    for call in (ours, theirs):
        for _ in range(PER_ROUND):
            call()
    for _ in range(ROUNDS):
        one += [ours() for _ in range(PER_ROUND)]
        two += [theirs() for _ in range(PER_ROUND)]
    return one, two


def _get(client: Client) -> float:
    began = time.perf_counter()
    answer = client.pool.request("GET", f"{client.url}/api/deployments", headers=_headers(client))
    took = time.perf_counter() - began
    assert answer.status == 200, answer.status
    return took


def _headers(client: Client) -> dict[str, str]:
    return {"Authorization": f"Bearer {client.token}"}


def _answers(client: Client) -> bool:
    try:
        return _get(client) > 0
    except Exception:  # noqa: BLE001 - not yet
        return False


def _errorless_calls(bench: Bench) -> int:
    """Count what the server has asked the API server so far."""
    user = ":".join((CLUSTER, *callers.SERVER))
    return sum(1 for event in bench.plane.audit((user,)) if event["stage"] == "ResponseComplete")


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def _uninstalls(bench: Bench) -> None:
    """Uninstall many at once, and see how the list does meanwhile."""
    doomed = bench.keys[:AT_ONCE]
    began = time.monotonic()
    statuses = each(partial(_delete, bench.client), doomed)
    answered = time.monotonic() - began
    lists: list[float] = []
    while {(row["namespace"], row["release"]) for row in bench.client.rows()} & set(doomed):
        lists.append(_get(bench.client))
        if time.monotonic() - began > LIMIT:
            raise SystemExit("the uninstalls did not end")
    took = time.monotonic() - began
    say(f"{AT_ONCE} uninstalls at once: answered after {answered:.1f} s, all gone after {took:.1f} s")
    say(f"  answers {sorted(set(statuses))}; slowest list meanwhile {max(lists, default=0) * 1e3:.0f} ms")


def _delete(client: Client, key: tuple[str, str]) -> int:
    return client.call("DELETE", f"/api/releases/{key[0]}/{key[1]}").status


def _memory(bench: Bench, seconds: float) -> None:
    """List, look, upgrade, uninstall and install for a while, and see whether memory grows."""
    keys = bench.keys[AT_ONCE : AT_ONCE + 20]
    chart = {"chart": CHART.model_dump(by_alias=True, exclude_none=True), "values": {"x": "y" * 100}}
    samples: list[float] = []
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for key in keys:
            path = f"/api/releases/{key[0]}/{key[1]}"
            for method, body in (("PUT", chart), ("GET", None), ("DELETE", None)):
                bench.client.call(method, path, body)
            bench.client.rows()
            wait_until(partial(_installed, bench, path, chart), "it is installed again", LIMIT, 0.02)
        rounds += 1
        samples.append(_resident(bench.server.pid))
    fifth = max(len(samples) // 5, 1)
    first, last = statistics.mean(samples[fifth : 2 * fifth] or samples), statistics.mean(samples[-fifth:])
    say(f"memory over {seconds:.0f} s and {rounds * len(keys)} releases that came and went, in MiB:")
    say(f"  second fifth {first:.1f}, last fifth {last:.1f}, largest {max(samples):.1f}")


def _installed(bench: Bench, path: str, body: Object) -> bool:
    return bench.client.call("POST", path, body).status == 200


def _resident(process: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found.group(1)) / 1024 if found else 0.0


if __name__ == "__main__":
    main()

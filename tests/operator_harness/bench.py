"""Measures the controller on thousands of teardowns at once: `python -m operator_harness.bench [NUMBER]`.

helm is replaced by recorded releases and a fast fake, here and nowhere else: what is measured is the
controller. The machine is shared, so times are only compared within one run. Controller and loop run on the
Python packages of the image (`shipped`).

The two floors do the same with the least: watch LLMServices, and take the finalizer off those that are
deleted. One on the controller's own client (`bare_loop`), one in Go on client-go (`clientgo/`, built when it
is not in the cache).
"""

import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from controlplane import toolbox
from controlplane.catalog import Module
from controlplane.kube import wait_until
from controlplane.options import Options
from controlplane.plane import Plane
from operator_harness import audit, planes, shipped, world
from operator_harness.charts import Repository
from operator_harness.controller import Controller
from operator_harness.crowd import Crowd, Uninstaller
from operator_harness.world import ACCOUNT, World

LIMIT = 900.0
SETTLE, PODS_END = 10, 6
READS = ("get", "list", "watch")
CLIENT_GO = Module("../../operator_harness/clientgo", {"clientgo": "."})


@dataclass(frozen=True)
class Cost:
    """What a process used: CPU seconds in a phase, and its largest resident memory in MiB."""

    cpu: float
    memory: float
    seconds: float


@dataclass(frozen=True)
class Teardowns:
    """What the controller used, which calls it made, and how late its latest pass began (seconds)."""

    cost: Cost
    made: Counter[str]
    late: float


def _python_loop(python: str, kubeconfig: str) -> list[str]:
    return [python, "-m", "operator_harness.bare_loop", kubeconfig]


def _go_loop(_python: str, kubeconfig: str) -> list[str]:
    toolbox.ensure(CLIENT_GO, "[1/1]", lambda line: sys.stderr.writelines((line, "\n")))
    return [str(toolbox.entry(CLIENT_GO) / "clientgo"), kubeconfig]


Command = Callable[[str, str], list[str]]
LOOPS: dict[str, Command] = {
    "the same loop on client-go": _go_loop,
    "bare loop": _python_loop,
}


def main() -> None:
    """Run the loops before and after the controller, so that a machine that slows down favours none."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    floors: dict[str, list[Cost]] = {name: [] for name in LOOPS}
    with tempfile.TemporaryDirectory() as text, _plane() as plane:
        python = shipped.python(Path(text) / "python")
        for name, command in LOOPS.items():
            floors[name].append(_loop(plane, number, command, python))
        teardowns = _teardowns(plane, number, Path(text), python)
        for name, command in reversed(LOOPS.items()):
            floors[name].append(_loop(plane, number, command, python))
    means = {name: _mean(costs) for name, costs in floors.items()}
    sys.stdout.write(_report(number, teardowns, means))


def _plane() -> Plane:
    kwok = Options(
        crossplane=False,
        providers=(),
        scheduler=False,
        registry=False,
        controllers=("namespace", "serviceaccount", "garbagecollector"),
    )
    plane = Plane.up("", kwok)
    with contextlib.ExitStack() as stack:
        stack.push(plane)
        world.install(plane)
        planes.add_node(plane)
        stack.pop_all()
    return plane


def _mean(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.mean(getattr(cost, field.name) for cost in costs) for field in fields(Cost)))


def _loop(plane: Plane, number: int, command: Command, python: str) -> Cost:
    """Let a bare loop take the finalizers off so many services."""
    crowd = Crowd(plane, number)
    crowd.create(bare=True)
    argv = command(python, str(plane.kubeconfig_for(ACCOUNT)))
    process = subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": shipped.PATHS})
    try:
        return _measured(crowd, process.pid)
    finally:
        process.kill()
        process.wait()


def _teardowns(plane: Plane, number: int, folder: Path, python: str) -> Teardowns:
    crowd = Crowd(plane, number, f"{SETTLE}s", f"{PODS_END}s")
    crowd.create()
    helm = Uninstaller(plane, folder).helm
    controller = Controller(World(plane, Repository("", folder)), folder, helm=str(helm), movable=False)
    controller.python = python
    controller.start(PYTHONPATH=shipped.PATHS)
    try:
        wait_until(lambda: _ready(plane) == number, "all services are ready", LIMIT, 1)
        before = len(audit.calls(plane))
        cost = _measured(crowd, controller.pid)
        late = _late(controller.port())
    finally:
        controller.close()
    calls = [call for call in audit.calls(plane)[before:] if call.who == "controller"]
    if controller.complaints():
        raise SystemExit(f"the controller complained: {controller.complaints()[:3]}")
    made = Counter(f"{call.verb} {call.resource}" for call in calls if call.resource != "leases")
    return Teardowns(cost, made, late)


def _ready(plane: Plane) -> int:
    services = plane.api.list(world.API, "LLMService")
    return sum(1 for service in services if (service.get("status") or {}).get("phase") == "Ready")


def _measured(crowd: Crowd, process: int) -> Cost:
    """Delete everything and wait until it is gone."""
    wait_until(lambda: _idle(process), "the process has read everything", LIMIT)
    began, cpu = time.monotonic(), _cpu(process)
    crowd.delete()
    wait_until(lambda: crowd.left() == 0, "all services are gone", LIMIT, 1)
    return Cost(_cpu(process) - cpu, _memory(process), time.monotonic() - began)


def _idle(process: int) -> bool:
    before = _cpu(process)
    time.sleep(1)
    return 0 < before == _cpu(process)


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found.group(1)) / 1024 if found else 0.0


def _late(port: int) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.search(r"^llm_operator_latest_pass_seconds ([0-9.e+-]+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def _report(number: int, teardowns: Teardowns, floors: dict[str, Cost]) -> str:
    cost, made = teardowns.cost, teardowns.made
    writes = sum(count for call, count in made.items() if call.split()[0] not in READS)
    rows = {"controller": (cost, writes), **{name: (floor, number) for name, floor in floors.items()}}
    calls = [f"  {count / number:6.3f} per teardown  {call}" for call, count in sorted(made.items())]
    lines = [
        f"{number} teardowns at once, settle {SETTLE} s, pods end {PODS_END} s after they are told to",
        *calls,
        f"all gone after {cost.seconds:.1f} s; no pass began more than {teardowns.late:.2f} s late",
        f"{cost.cpu / number * 1e6:.0f} us CPU per teardown, helm's children not counted",
        _HEAD,
        *(_row(name, row, rows["controller"]) for name, row in rows.items()),
    ]
    return "\n".join(lines) + "\n"


_HEAD = f"{'':28s}{'CPU per write':>15s}{'ratio':>12s}{'memory':>12s}{'ratio':>12s}{'all gone':>10s}"


def _row(name: str, row: tuple[Cost, int], ours: tuple[Cost, int]) -> str:
    """Write a process's cost, and the controller's as a multiple of it."""
    (cost, writes), (own, own_writes) = row, ours
    per_write, own_per_write = cost.cpu / writes * 1e6, own.cpu / own_writes * 1e6
    return (
        f"{name:28s}{per_write:12.0f} us{own_per_write / per_write:10.2f} x"
        f"{cost.memory:8.1f} MiB{own.memory / cost.memory:10.2f} x{cost.seconds:8.1f} s"
    )


if __name__ == "__main__":
    main()

"""The controller's process: flags, caches, leader election, probes, and an end in good order.

`python -m llm_operator.teardown.main --help` lists the flags.
"""

import argparse
import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence

import structlog

from llm_operator import flags, logs, probes
from llm_operator.api import CONTROLLER
from llm_operator.clock import Clock
from llm_operator.context import Context
from llm_operator.helm import Helm, HelmError, Slots
from llm_operator.kube import ApiError, Kube
from llm_operator.leader import Leader, Terms
from llm_operator.metrics import Metrics
from llm_operator.passes import Passes
from llm_operator.resources import LEASES, Ref
from llm_operator.teardown.actions import Actions
from llm_operator.teardown.model import SKIPPED, Outcome, Stage
from llm_operator.teardown.observe import Observer
from llm_operator.teardown.reconcile import Reconciler
from llm_operator.teardown.sources import Sources

DRAIN = 20.0
"""Seconds that running passes get to end.

A helm that still runs then is killed and finished by the next leader.
"""

COLLECT_AFTER = 20_000
"""Objects between looks for garbage: parsed JSON has no cycles, and Python would look after every 700."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    return parser().parse_args(arguments)


def parser() -> argparse.ArgumentParser:
    """Declare the flags."""
    made = argparse.ArgumentParser(
        prog="llmservice-controller", description="Installs LLMServices, and takes them down in order."
    )
    flags.cluster(made)
    add = made.add_argument
    add(
        "--namespace",
        action="append",
        default=[],
        help="look after this namespace only; may be given several times; default: all",
    )
    add("--lease-namespace", default="llm-operator-system", help="where the leader election's Lease lies")
    add("--lease-name", default=CONTROLLER, help="the Lease's name")
    add("--lease-seconds", type=int, default=15, help="how long a leader that died is waited for")
    own = os.environ.get("POD_NAME") or f"{socket.gethostname()}_{os.getpid()}"
    add("--identity", default=own, help="our name in the Lease; default: POD_NAME, else host and process")
    add("--port", type=int, default=8080, help="port of /healthz, /readyz and /metrics")
    add(
        "--drain-seconds",
        type=float,
        default=DRAIN,
        help="what running passes, and helm, get to end when told to stop",
    )
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    add("--log-level", default="INFO", choices=levels, help="the least that is logged")
    add("--clock-offset-file", help="for tests: file with seconds to add to the controller's clock")
    return made


class Program:
    """One run of the controller."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Remember the flags; nothing is opened yet."""
        self._options = options
        self._metrics = Metrics(Stage, (*Outcome, SKIPPED))
        self._clock = Clock(options.clock_offset_file)
        self._log = structlog.get_logger()
        self._stop = asyncio.Event()
        self._sources: Sources | None = None
        self._measure: Callable[[], None] = lambda: None

    async def run(self) -> int:
        """Run until a signal or a lost lease; return the exit code."""
        options = self._options
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        helm = Helm(options.helm, options.helm_kubeconfig or options.kubeconfig, Slots(options.helm_starts))
        kube = await Kube.connect(options.kubeconfig, self._metrics.api_error)
        lease_kube = await Kube.connect(options.kubeconfig, self._metrics.api_error)
        runner = await probes.serve(options.port, lambda: True, self._ready, self._exposition)
        try:
            port = runner.addresses[0][1]
            self._log.info("starting", helm=helm.binary, helm_version=await helm.version(), port=port)
            return await self._lead(Context(kube, self._clock, self._metrics), helm, self._leader(lease_kube))
        finally:
            await runner.cleanup()
            await kube.close()
            await lease_kube.close()

    def _exposition(self) -> bytes:
        self._measure()
        return self._metrics.text()

    def _ready(self) -> bool:
        return self._sources is not None and self._sources.synced

    def _leader(self, kube: Kube) -> Leader:
        lease = Ref(LEASES, self._options.lease_namespace, self._options.lease_name)
        return Leader(kube, lease, self._options.identity, Terms.of(self._options.lease_seconds))

    async def _lead(self, context: Context, helm: Helm, leader: Leader) -> int:
        """Fill the caches and wait for the lease, then act until told to stop or until the lease is lost."""
        self._sources = sources = Sources(context.kube, self._options.namespace)
        async with asyncio.TaskGroup() as group:
            feeding = group.create_task(sources.run())
            stopped = group.create_task(self._stop.wait())
            elected = group.create_task(self._elect(sources, leader))
            await asyncio.wait((elected, stopped), return_when=asyncio.FIRST_COMPLETED)
            observer = Observer(context, sources.caches)
            reconciler = Reconciler(context, sources.caches, observer, Actions(context, helm, observer))
            lost = not stopped.done() and await self._act(sources, reconciler, leader, stopped)
            for task in (feeding, stopped, elected):
                task.cancel()
        if lost:
            return 1
        await leader.release()
        self._log.info("stopped")
        return 0

    async def _elect(self, sources: Sources, leader: Leader) -> None:
        await sources.wait()
        # What was imported and cached stays: no collection of garbage need look at all of it again.
        gc.freeze()
        self._log.info("waiting for the lease")
        await leader.acquire()

    async def _act(
        self, sources: Sources, reconciler: Reconciler, leader: Leader, stopped: asyncio.Task[bool]
    ) -> bool:
        """Run passes while the lease is ours; return whether it was lost."""
        passes = Passes(self._clock, reconciler.run)
        sources.on_change = passes.add
        for key in sources.services():
            passes.add(key)
        self._measure = lambda: self._metrics.now(*reconciler.stages(), passes.latest)
        self._metrics.leading.set(1)
        async with asyncio.TaskGroup() as group:
            holding = group.create_task(leader.hold())
            running = group.create_task(passes.run())
            await asyncio.wait((holding, stopped), return_when=asyncio.FIRST_COMPLETED)
            lost = holding.done()
            running.cancel()
            await passes.drain(0.0 if lost else self._options.drain_seconds)
            holding.cancel()
        self._metrics.leading.set(0)
        return lost


def main() -> None:
    """Run the controller; a wrong environment is one line, not a traceback."""
    options = parse(sys.argv[1:])
    if sys.version_info < (3, 12):  # Later ones do so by themselves; the old way costs a thread per helm.
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    logs.configure(options.log_level)
    gc.set_threshold(COLLECT_AFTER)
    try:
        code = asyncio.run(Program(options).run())
    except (ApiError, HelmError) as error:
        structlog.get_logger().error("cannot start", error=str(error))
        code = 1
    raise SystemExit(code)


if __name__ == "__main__":
    main()

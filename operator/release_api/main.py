"""The server's process: caches, check loop, HTTP, and an end in good order.

`python -m release_api.main --help` lists the flags.
"""

import argparse
import asyncio
import contextlib
import gc
import signal
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterator

import structlog
import uvicorn

from llm_operator import logs
from llm_operator.clock import Clock
from llm_operator.helm import Helm as HelmCommand
from llm_operator.helm import HelmError, Slots
from llm_operator.kube import ApiError, Kube
from llm_operator.resources import CONFIGMAPS
from release_api import app, certificates, sealing
from release_api.archives import Archives
from release_api.audit import Auditor
from release_api.auth import Ask, Cluster, Embedded, Gate, Sight
from release_api.autoscale.loop import Autoscaler, Parts
from release_api.autoscale.metrics import Metrics as AutoscaleMetrics
from release_api.autoscale.prometheus import Prometheus
from release_api.backends.helm import Helm
from release_api.backends.llmsvc import LLMSvc
from release_api.checks import Checks
from release_api.guards import Guards
from release_api.lease import Terms
from release_api.listing import Listing
from release_api.lock import Locks
from release_api.metrics import Metrics
from release_api.options import parse
from release_api.plans import Book
from release_api.rates import Rates
from release_api.reaper import Reaper
from release_api.running import Running
from release_api.service import Releases
from release_api.state import State
from release_api.tools import Tools

CONNECTIONS = 1000


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: who stops is decided here."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class Program:
    """One run of the server."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Remember the flags; nothing is opened yet."""
        self._options = options
        self._metrics = Metrics()
        self._log = structlog.get_logger()
        self._stop = asyncio.Event()

    async def run(self) -> int:
        """Run until a signal; return the exit code."""
        options, loop = self._options, asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        slots = Slots(options.helm_starts)
        helm = HelmCommand(options.helm, options.helm_kubeconfig or options.kubeconfig, slots)
        self._log.info("helm", binary=helm.binary, version=await helm.version())
        async with contextlib.AsyncExitStack() as stack:
            kube, locks = [await self._connect(stack) for _ in range(2)]
            tools = await self._tools(kube, locks, helm)
            await self._serve(stack, tools, self._gate(kube))
        self._log.info("stopped")
        return 0

    async def _connect(self, stack: contextlib.AsyncExitStack) -> Kube:
        kube = await Kube.connect(self._options.kubeconfig, self._metrics.api_error)
        stack.push_async_callback(kube.close)
        return kube

    async def _tools(self, kube: Kube, locks: Kube, helm: HelmCommand) -> Tools:
        """Build what acts. Leases have a connection of their own: a renewal waits for nothing else."""
        options = self._options
        clock = Clock(options.clock_offset_file)
        seal = await sealing.fetch(kube, options.namespace)
        state = State(clock, seal)
        auditor = Auditor(kube, options.namespace, state.audits)
        state.feed(kube, auditor, options.watch_namespace)
        return Tools(
            kube=kube,
            clock=clock,
            helm=helm,
            state=state,
            book=Book(kube, seal, state.plans),
            locks=Locks(locks, options.identity, state.leases, Terms(options.lock_seconds)),
            auditor=auditor,
            archives=Archives(kube),
            metrics=self._metrics,
            impersonate=bool(options.tls_cert),
        )

    def _gate(self, kube: Kube) -> Gate:
        return Cluster(kube) if self._options.tls_cert else Embedded(kube, self._options.token_file)

    def _autoscaler(self, stack: contextlib.AsyncExitStack, tools: Tools, releases: Releases) -> Autoscaler:
        options, prometheus = self._options, None
        if options.prometheus_url:
            prometheus = Prometheus(options.prometheus_url)
            stack.push_async_callback(prometheus.close)
        metrics = AutoscaleMetrics(self._metrics.registry)
        parts = Parts(tools.kube, tools.clock, metrics, prometheus, releases, options.watch_namespace)
        return Autoscaler(parts, options.autoscale_seconds)

    async def _serve(self, stack: contextlib.AsyncExitStack, tools: Tools, gate: Gate) -> None:
        """Fill the caches, answer and check until told to stop, then end what runs."""
        helm, llmsvc = Helm(tools), LLMSvc(tools)
        releases = Releases(tools, gate, helm, llmsvc)
        running = Running()
        checks = Checks(tools, (helm, llmsvc), Reaper(tools, helm, llmsvc), running)
        autoscaler = self._autoscaler(stack, tools, releases)
        server, sock = self._server(_api(releases, checks, gate, running, self._options), tools)
        async with asyncio.TaskGroup() as group:
            feeding = group.create_task(tools.state.run())
            checking = group.create_task(_after(tools.state, checks.run))
            scaling = group.create_task(_after(tools.state, autoscaler.run))
            looking = group.create_task(self._renew_certificate(server.config.ssl))
            serving = group.create_task(server.serve(sockets=[sock]))
            self._log.info("starting", port=sock.getsockname()[1], identity=self._options.identity)
            await self._stop.wait()
            self._log.info("stopping")
            server.should_exit = True
            checking.cancel()
            scaling.cancel()
            seconds = self._options.drain_seconds
            await asyncio.gather(*(part.drain(seconds) for part in (running, autoscaler, checks)))
            await serving
            for task in (feeding, looking):
                task.cancel()

    async def _renew_certificate(self, context: ssl.SSLContext | None) -> None:
        if context is not None:
            await certificates.renew(context, self._options.tls_cert, self._options.tls_key)

    def _server(self, api: app.Api, tools: Tools) -> tuple[_Server, socket.socket]:
        options = self._options
        served = bool(options.tls_cert)
        sock = _listen("" if served else "127.0.0.1", options.port)
        port = sock.getsockname()[1]
        hosts = None if served else [f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")]
        config = uvicorn.Config(
            Guards(app.build(api), tools.metrics, hosts=hosts),
            ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key,
            access_log=False,
            log_config=None,
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=max(int(options.drain_seconds), 1),
        )
        config.load()
        return _Server(config), sock


def _api(
    releases: Releases, checks: Checks, gate: Gate, running: Running, options: argparse.Namespace
) -> app.Api:
    tools = releases.tools
    sight = Sight(gate, Ask("list", CONFIGMAPS))
    return app.Api(
        releases=releases,
        checks=checks,
        listing=Listing(releases, checks, sight),
        audits=tools.state.audits,
        gate=gate,
        sight=sight,
        rates=Rates(options.write_rate, options.write_burst),
        running=running,
        ready=lambda: tools.state.synced,
        exposition=tools.metrics.text,
    )


async def _after(state: State, work: Callable[[], Awaitable[None]]) -> None:
    """Begin once everything was read: what is not in the caches yet would look gone."""
    await state.wait()
    gc.freeze()  # What was read stays; a collection need not look at it again and again.
    structlog.get_logger().info("synced")
    await work()


def _listen(host: str, port: int) -> socket.socket:
    """Listen on loopback, or on every address of both families where the machine has both."""
    if not host and socket.has_dualstack_ipv6():
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
    return socket.create_server((host, port), backlog=512)


def main() -> None:
    """Run the server; a wrong environment is one line, not a traceback."""
    options = parse(sys.argv[1:])
    if sys.version_info < (3, 12):  # Later ones do so by themselves; the old way costs a thread per helm.
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    logs.configure(options.log_level)
    logs.adopt("uvicorn")
    try:
        code = asyncio.run(Program(options).run())
    except (ApiError, HelmError, OSError) as error:
        structlog.get_logger().error("cannot start", error=str(error))
        code = 1
    raise SystemExit(code)


if __name__ == "__main__":
    main()

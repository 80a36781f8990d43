"""What every request passes before anything of it is looked at: host, size, time; and what is counted."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from starlette.exceptions import HTTPException

from release_api.metrics import Metrics
from release_api.problems import problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
_QUIET = ("/healthz", "/readyz", "/metrics")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of a body; seconds that its arrival, a read and a change may take."""

    body: int = 1024 * 1024
    arrival: float = 15.0
    read: float = 30.0
    change: float = 360.0
    """Longer than helm may take."""


class Guards:
    """The outermost layer."""

    def __init__(
        self, app: App, metrics: Metrics, limits: Limits | None = None, hosts: Collection[str] | None = None
    ) -> None:
        """Wrap an application; with `hosts` only these are taken as Host header."""
        self._app, self._metrics, self._limits = app, metrics, limits or Limits()
        self._hosts = frozenset(hosts) if hosts is not None else None
        self._log = structlog.get_logger()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        sent = _Sent(send)
        try:
            await self._guarded(scope, receive, sent)
        finally:
            self._count(scope, sent.status, time.perf_counter() - began)

    async def _guarded(self, scope: Scope, receive: Receive, send: "_Sent") -> None:
        headers = dict(scope["headers"])
        if self._hosts is not None and headers.get(b"host", b"").decode("latin-1") not in self._hosts:
            await problem(HTTPStatus.MISDIRECTED_REQUEST, "this host is not served here")(
                scope, receive, send
            )
            return
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limits.body:
            await problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self._too_large)(scope, receive, send)
            return
        limit = self._limits.read if scope["method"] in ("GET", "HEAD", "OPTIONS") else self._limits.change
        try:
            async with asyncio.timeout(limit):
                await self._app(scope, self._bounded(receive), send)
        except TimeoutError:
            if not send.status:
                text = f"not done within {limit:g} s; a change goes on: look at the release"
                await problem(HTTPStatus.GATEWAY_TIMEOUT, text)(scope, receive, send)

    @property
    def _too_large(self) -> str:
        return f"the body may have {self._limits.body} bytes"

    def _bounded(self, receive: Receive) -> Receive:
        """Bound the arrival of a body whose length nobody has told, or that comes drop by drop."""
        got = 0
        deadline = asyncio.get_running_loop().time() + self._limits.arrival
        done = False

        async def bounded() -> Message:
            nonlocal got, done
            if done:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time") from None
            got += len(message.get("body", b""))
            done = not message.get("more_body", False)
            if got > self._limits.body:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, self._too_large)
            return message

        return bounded

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in ("GET", "POST", "PUT", "DELETE") else "other"
        self._metrics.requests.labels(method, route, str(status)).observe(seconds)
        if scope["path"] not in _QUIET:
            say = self._log.debug if method == "GET" else self._log.info
            say("request", method=method, path=scope["path"], status=status, seconds=round(seconds, 4))


class _Sent:
    """Passes an answer on, with our headers, and remembers its status."""

    def __init__(self, send: Send) -> None:
        """Wrap the server's own."""
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Send."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await self._send(message)

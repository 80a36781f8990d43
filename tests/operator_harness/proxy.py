"""A proxy between the controller and the API server.

Passes everything through, and does what a test asks to some.

Plain HTTP on loopback towards the controller, TLS towards the server. Answers are passed on as they come, so
that a watch stays a watch.
"""

import contextlib
import http.client
import http.server
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from controlplane.plane import Plane
from operator_harness.world import ACCOUNT, kubeconfig_of

DEADLINE = 150.0


@dataclass
class Fault:
    """What happens to calls of a method whose path and query match a pattern, so many times (None.

    Always).
    """

    method: str
    path: str
    times: int | None = 1
    status: int | None = None
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    before: Callable[[], object] | None = None
    drop: bool = False
    held: threading.Event | None = None
    """The call waits here, as at a server that does not answer."""
    hits: int = 0

    def matches(self, method: str, path: str) -> bool:
        """Say whether a call is one of those."""
        left = self.times is None or self.hits < self.times
        return left and method == self.method and re.search(self.path, path) is not None


@dataclass
class Proxy:
    """A running proxy."""

    url: str
    kubeconfig: Path
    faults: list[Fault] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    dead: bool = False
    """Every call is cut off."""
    streams: set[socket.socket] = field(default_factory=set)

    def cut(self) -> None:
        """Cut every stream that runs, on both sides; their clients come back."""
        with self.lock:
            streams, self.streams = self.streams, set()
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def add(self, fault: Fault) -> Fault:
        """Start a fault."""
        with self.lock:
            self.faults.append(fault)
        return fault

    def pick(self, method: str, path: str) -> Fault | None:
        """Find the fault for a call and count the hit."""
        with self.lock:
            found = next((fault for fault in self.faults if fault.matches(method, path)), None)
            if found is not None:
                found.hits += 1
            return found


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy
    server_url: str
    tls: ssl.SSLContext

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Say nothing."""

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.pick(self.command, self.path)
        if fault is not None and fault.before is not None:
            fault.before()
        if fault is not None and fault.held is not None:
            fault.held.wait(DEADLINE)
        if self.proxy.dead or (fault is not None and fault.drop):
            self.close_connection = True
            return
        if fault is not None and fault.status is not None:
            self._answer(fault.status, json.dumps(fault.body).encode(), fault.headers)
            return
        self._forward(body)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle  # noqa: N815 - the standard library's names

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _forward(self, body: bytes) -> None:
        with self.proxy.lock:
            self.proxy.streams.add(self.connection)
        target = urlsplit(self.server_url)
        upstream = http.client.HTTPSConnection(
            target.hostname or "", target.port, timeout=DEADLINE, context=self.tls
        )
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "accept-encoding")}
        try:
            upstream.request(self.command, self.path, body or None, headers)
            with self.proxy.lock:
                self.proxy.streams.add(upstream.sock)
            self._pass_on(upstream.getresponse())
        except OSError:
            self.close_connection = True
        finally:
            upstream.close()

    def _pass_on(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while chunk := answer.read1(65536):
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a controller that is killed leaves its connections."""


@contextmanager
def proxied(plane: Plane, folder: Path, account: tuple[str, str] = ACCOUNT) -> Iterator[Proxy]:
    """Run a proxy in front of a plane; its kubeconfig is that of a shipped account."""
    config = yaml.safe_load(kubeconfig_of(plane, account, folder / "kubeconfig-direct").read_text())
    handler = type("Handler", (_Handler,), {"server_url": plane.server, "tls": _context(plane)})
    with _Server(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        config["clusters"][0]["cluster"] = {"server": url}
        path = folder / "kubeconfig-proxy"
        path.write_text(yaml.safe_dump(config))
        proxy = Proxy(url, path)
        setattr(handler, "proxy", proxy)  # noqa: B010 - a class made at run time
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield proxy
        finally:
            server.shutdown()


def _context(plane: Plane) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(plane.state.pki / "ca.crt"))

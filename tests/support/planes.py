"""Control planes shared by all tests of a session, whatever the number of worker processes.

The session's first process owns them: it serves their names on a unix socket and starts each on first demand,
so that a plane nobody asks for never runs, and the end of that process is the end of every plane.
"""

from __future__ import annotations

import contextlib
import json
import socket as net
import socketserver
import threading
from typing import TYPE_CHECKING, Any

from controlplane.errors import ControlPlaneError
from controlplane.plane import Plane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_START_SECONDS = 540.0


class Broker:
    """Owns the planes of one session."""

    def __init__(self, socket: Path, recipes: Mapping[str, Callable[[], Plane]]) -> None:
        """Serve planes made by `recipes` on a unix socket; call `close` at the end."""
        self.socket = socket
        self._recipes = recipes
        self._planes: dict[str, Plane] = {}
        self._locks = {name: threading.Lock() for name in recipes}
        self._stopping: list[threading.Thread] = []
        self.keep_logs = False
        broker = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                name = self.rfile.readline().decode().strip()
                self.wfile.write(json.dumps(broker.answer(name)).encode() + b"\n")

        self._server = socketserver.ThreadingUnixStreamServer(str(socket), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, name: str) -> dict[str, str]:
        """Start the plane unless it runs and return its name, or say what went wrong."""
        if name not in self._recipes:
            return {"error": f"no recipe for a plane {name!r}"}
        with self._locks[name]:
            try:
                if name not in self._planes:
                    self._planes[name] = self._recipes[name]()
            except Exception as error:  # noqa: BLE001 -- it is raised again in the worker that asked
                return {"error": f"the control plane {name!r} did not start: {error}"}
            return {"name": self._planes[name].name}

    def stop(self, name: str) -> None:
        """Stop a plane, if it runs, while the session goes on; keep its logs when a test has failed."""
        plane = self._planes.pop(name, None)
        if plane is not None:
            thread = threading.Thread(target=self._close, args=(plane,))
            thread.start()
            self._stopping.append(thread)

    def _close(self, plane: Plane) -> None:
        with contextlib.suppress(ControlPlaneError):
            plane.close("logs" if self.keep_logs else "none")

    def close(self) -> None:
        """Stop every plane and wait for the end of all."""
        self._server.shutdown()
        self._server.server_close()
        for name in list(self._planes):
            self.stop(name)
        for thread in self._stopping:
            thread.join()
        self.socket.unlink(missing_ok=True)
        self.socket.parent.rmdir()


def ask(socket: Path, name: str) -> Plane:
    """Return a handle on the session's plane `name`, starting it if nobody asked before."""
    answer: dict[str, Any] = json.loads(_exchange(socket, name))
    if "error" in answer:
        raise ControlPlaneError(answer["error"])
    return Plane.attach(answer["name"])


def _exchange(socket: Path, name: str) -> bytes:
    with net.socket(net.AF_UNIX) as connection:
        connection.settimeout(_START_SECONDS)
        connection.connect(str(socket))
        connection.sendall(f"{name}\n".encode())
        with connection.makefile("rb") as answer:
            return answer.readline()

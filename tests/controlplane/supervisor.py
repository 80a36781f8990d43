"""Pid 1 of a plane's namespaces: runs its servers and obeys its owner.

Started by `launcher.py` with one JSON argument. It ends on EOF of the lifeline (the owner is gone), on
SIGTERM or SIGINT, or on `shutdown`; when it ends the kernel kills everything left in its pid namespace.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controlplane import control
from controlplane.errors import ControlPlaneError
from controlplane.forward import forward
from controlplane.processes import PATIENCE_SECONDS, Process, Processes, Spec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# The standard place of a pod's credentials; `InjectedIdentity` of the providers reads nothing else.
TOKEN_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1

Message = dict[str, Any]


class Supervisor:
    """Serves the control socket until told to stop."""

    def __init__(self, config: Message) -> None:
        """Take the launcher's configuration; nothing runs yet."""
        self._config = config
        self._folder = Path(config["folder"])
        self._processes = Processes(self._folder / "logs", config["env"])
        self._stopping = asyncio.Event()
        self._keep: str = config["keep"]
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._operations: dict[str, Callable[[Message, list[int]], Awaitable[Any]]] = {
            "status": self._status,
            "start": self._start,
            "stop": self._stop,
            "restart": self._restart,
            "probe": self._probe,
            "forward": self._forward,
            "detach": self._detach,
            "shutdown": self._shutdown,
        }

    async def run(self) -> None:
        """Serve until the end, then stop all components in order and clean up."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self._processes.reap)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        loop.add_reader(self._config["lifeline"], self._owner_gone)
        for fd, port in self._config["forwards"]:
            self._servers.append(await forward(socket.socket(fileno=fd), port))
        accepting = asyncio.create_task(self._accept(control.listen(self._folder)))
        await self._stopping.wait()
        accepting.cancel()
        await self._processes.stop_all()
        self._clean()

    def _owner_gone(self) -> None:
        # Nobody will look at the data again, so no orderly end. As pid 1 this kills all others.
        os.kill(-1, signal.SIGKILL)
        self._clean()
        os._exit(1)

    def _clean(self) -> None:
        if self._keep == "all":
            return
        for path in self._folder.iterdir():
            if self._keep == "logs" and path.name in {"logs", "audit.log"}:
                continue
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(listener)
            task = asyncio.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket) -> None:
        with connection:
            await _readable(connection)
            data, fds, _, _ = socket.recv_fds(connection, control.MESSAGE_LIMIT, 8)
            if not data:
                return
            try:
                answer = {"ok": await self._dispatch(json.loads(data), fds, connection)}
            except ControlPlaneError as error:
                answer = {"error": str(error)}
            # The owner may have gone in the meantime; there is nobody to tell then.
            with contextlib.suppress(OSError):
                connection.send(control.encode(answer))

    async def _dispatch(self, message: Message, fds: list[int], connection: socket.socket) -> Any:  # noqa: ANN401 -- the shape depends on the operation
        if message["op"] == "run":
            return await self._run(message, fds, connection)
        return await self._operations[message["op"]](message, fds)

    async def _status(self, _message: Message, _fds: list[int]) -> Message:
        return {name: process.report() for name, process in self._processes.named.items()}

    async def _start(self, message: Message, _fds: list[int]) -> int:
        return self._processes.start(Spec(**message["spec"])).popen.pid

    async def _stop(self, message: Message, _fds: list[int]) -> int | None:
        process = self._processes.find(message["name"])
        await self._processes.stop(process, message["signal"], message.get("patience", PATIENCE_SECONDS))
        return process.code

    async def _restart(self, message: Message, _fds: list[int]) -> int:
        process = self._processes.find(message["name"])
        await self._processes.stop(process)
        return self._processes.start(process.spec).popen.pid

    async def _run(self, message: Message, fds: list[int], connection: socket.socket) -> int | None:
        try:
            process = self._processes.run(Spec(**message["spec"]), fds)
        finally:
            for fd in fds:
                os.close(fd)
        gone = asyncio.create_task(_readable(connection))
        ended = asyncio.create_task(process.ended.wait())
        await asyncio.wait((gone, ended), return_when=asyncio.FIRST_COMPLETED)
        if not process.ended.is_set():
            await self._abandon(process)
        gone.cancel()
        ended.cancel()
        return process.code

    async def _abandon(self, process: Process) -> None:
        await self._processes.stop(process, patience=2)

    async def _probe(self, message: Message, _fds: list[int]) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", message["port"])
        except OSError:
            return False
        writer.close()
        return True

    async def _forward(self, message: Message, fds: list[int]) -> None:
        self._servers.append(await forward(socket.socket(fileno=fds[0]), message["port"]))

    async def _detach(self, _message: Message, _fds: list[int]) -> None:
        asyncio.get_running_loop().remove_reader(self._config["lifeline"])

    async def _shutdown(self, message: Message, _fds: list[int]) -> None:
        self._keep = message["keep"]
        asyncio.get_running_loop().call_soon(self._stopping.set)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    connection.settimeout(0)
    loop.add_reader(connection, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(connection)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def loopback_up() -> None:
    """Bring `lo` up, without which nothing inside a new network namespace can be reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def token_mount_point() -> None:
    """Make the place of service account credentials, on a tmpfs that only this mount namespace sees."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(Path("/var/run").resolve())], check=True)
    TOKEN_FOLDER.mkdir(parents=True)


def main() -> None:
    """Run the supervisor with the configuration given as the only argument."""
    config = json.loads(sys.argv[1])
    loopback_up()
    token_mount_point()
    asyncio.run(Supervisor(config).run())


if __name__ == "__main__":
    main()

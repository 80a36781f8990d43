"""Starts a supervisor in namespaces of its own and hands it the sockets that it serves on the host.

One network namespace per plane: every server has a fixed port, no port can clash, and several planes run side
by side. One pid namespace: when its first process ends, the kernel ends all others.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from controlplane import control
from controlplane.errors import ControlPlaneError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
_AS_USER = ["--user", "--map-root-user"]
_START_SECONDS = 60.0
STOP_SECONDS = 30.0
# No proxy settings, tokens or other variables of the user's shell reach the servers.
_PASSED = ("PATH", "HOME", "LANG", "TZ", "USER")


@dataclass(frozen=True)
class Launched:
    """A running supervisor: its outer process, the lifeline's write end and the host ports it serves."""

    process: subprocess.Popen[bytes]
    lifeline: int
    ports: list[int]

    def end(self) -> None:
        """Wait for the end of a supervisor that was told to stop, killing it after some seconds."""
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        finally:
            os.close(self.lifeline)

    def abort(self) -> None:
        """End it at once; the kernel kills everything inside."""
        self.process.kill()
        self.end()

    def release(self) -> None:
        """Forget a supervisor that no longer minds its lifeline."""
        os.close(self.lifeline)
        # Else Popen warns, when it is collected, that its process still runs: that is the point here.
        self.process.returncode = 0


def launch(folder: Path, inner_ports: list[int], keep: str) -> Launched:
    """Start a supervisor for the state folder, serving each inner port on a free loopback port of the host.

    `keep` says what stays in the folder at the end: none, logs or all. ControlPlaneError when this machine
    does not allow namespaces or another plane runs in the folder.
    """
    namespaces = _unshare()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context(_claimed(folder))
        _wipe(folder)
        listeners = [stack.enter_context(_listener()) for _ in inner_ports]
        read_end, write_end = os.pipe()
        stack.callback(os.close, read_end)
        config = {
            "folder": str(folder),
            "lifeline": read_end,
            "forwards": [[s.fileno(), port] for s, port in zip(listeners, inner_ports, strict=True)],
            "keep": keep,
            "env": _environment(folder),
        }
        process = _spawn(namespaces, config, (lock, read_end, *(s.fileno() for s in listeners)))
        launched = Launched(process, write_end, [s.getsockname()[1] for s in listeners])
    try:
        _await_answer(launched, folder)
    except BaseException:
        launched.abort()
        raise
    return launched


def _environment(folder: Path) -> dict[str, str]:
    # The folder says of every process in a plane which plane it belongs to.
    return {"CONTROLPLANE": str(folder), **{name: os.environ[name] for name in _PASSED if name in os.environ}}


def alive(folder: Path) -> bool:
    """Say whether a plane runs in a state folder."""
    try:
        with (folder / "lock").open() as lock:
            return not _free(lock.fileno())
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def ending(folder: Path) -> Iterator[None]:
    """Wait, after the block told the plane in this folder to stop, until its last process has gone."""
    with contextlib.ExitStack() as stack:
        # Opened before: the folder may be gone when the last process is not, and that process holds the lock.
        path = folder / "lock"
        lock = stack.enter_context(path.open()) if path.exists() else None
        yield
        deadline = time.monotonic() + STOP_SECONDS
        while lock and not _free(lock.fileno()):
            if time.monotonic() > deadline:
                raise ControlPlaneError(f"the control plane in {folder} did not end in {STOP_SECONDS:.0f} s")
            time.sleep(0.02)


def _free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unshare() -> list[str]:
    if not sys.platform.startswith("linux") or not shutil.which("unshare"):
        raise ControlPlaneError(
            "the local control plane needs Linux with util-linux's `unshare`: run it there"
        )
    for extra in ([], _AS_USER) if os.geteuid() == 0 else (_AS_USER,):
        command = ["unshare", *extra, *_NAMESPACES, "--"]
        done = subprocess.run(
            [*command, "mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, check=False
        )
        if done.returncode == 0:
            return command
    raise ControlPlaneError(
        f"cannot make namespaces ({done.stderr.decode().strip()}): run as root, or allow unprivileged user "
        "namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces>0, and on Ubuntu "
        "kernel.apparmor_restrict_unprivileged_userns=0)"
    )


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[int]:
    # The lock belongs to the open file, which the supervisor inherits: it is held as long as the plane lives.
    fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield fd
    except BlockingIOError as error:
        raise ControlPlaneError(f"a control plane already runs in {folder}: use it or stop it") from error
    finally:
        os.close(fd)


def _wipe(folder: Path) -> None:
    """Remove what an earlier plane of this name left."""
    for path in folder.iterdir():
        if path.name != "lock":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "logs").mkdir()


def _listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=256)


def _spawn(namespaces: list[str], config: dict[str, object], fds: tuple[int, ...]) -> subprocess.Popen[bytes]:
    folder = Path(str(config["folder"]))
    command = [*namespaces, sys.executable, "-m", "controlplane.supervisor", json.dumps(config)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    with (folder / "logs" / "supervisor.log").open("ab") as log:
        # A session of its own: Ctrl-C reaches the owner, which then ends the plane in order.
        return subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=fds,
            start_new_session=True,
        )


def _await_answer(launched: Launched, folder: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            control.request(folder, {"op": "status"}, timeout=5)
        except ControlPlaneError as error:
            if launched.process.poll() is not None or time.monotonic() > deadline:
                log = (folder / "logs" / "supervisor.log").read_text()[-2000:]
                raise ControlPlaneError(
                    f"the supervisor in {folder} did not start: {error}\n{log}"
                ) from error
            time.sleep(0.02)
        else:
            return

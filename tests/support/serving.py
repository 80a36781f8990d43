"""Serves the function on this machine, without TLS, for as long as a `with` block runs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

_START_SECONDS = 60.0
_STOP_SECONDS = 5.0


class ServingError(Exception):
    """The function could not be served; the message says why."""


@contextmanager
def serve(module: str = "function") -> Iterator[str]:
    """Start the function on a free port and yield its address; it ends with the block, whatever ends that.

    `module` serves it, by default the one that its image runs.
    """
    address = ("127.0.0.1", free_port())
    shown = f"{address[0]}:{address[1]}"
    command = [*_tied_to_us(), sys.executable, "-m", module, "--insecure", "--address", shown]
    path = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=path, stdout=log, stderr=log)
        try:
            _await(process, address, log)
            yield shown
        finally:
            _stop(process)


def _tied_to_us() -> list[str]:
    """Return what makes a program die with this process, even a killed one, where the system has it."""
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "KILL", "--"] if found else []


def free_port() -> int:
    """Return a loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(process: subprocess.Popen[bytes], address: tuple[str, int], log: IO[str]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(address):
        if process.poll() is not None:
            log.seek(0)
            last = (log.read().splitlines() or ["it said nothing"])[-1]
            raise ServingError(f"the function ended at once: {last}")
        if time.monotonic() > deadline:
            raise ServingError(f"the function did not listen within {_START_SECONDS:.0f} s")
        time.sleep(0.05)


def _answers(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=1).close()
    except OSError:
        return False
    return True


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

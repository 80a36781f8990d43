"""The functions as processes of their own: started, asked what they cost, ended."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from support.serving import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
METHOD = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction"

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "function-inference-cluster"
_SHARED = ("crossplane-function-sdk-python", "grpcio", "grpcio-reflection", "protobuf", "structlog", "click")
_START_SECONDS = 60.0


@dataclass(frozen=True)
class Program:
    """A function to measure; `environment` is added to that of this process."""

    name: str
    argv: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    folder: Path = ROOT


def ours() -> Program:
    """Return this project's function, served as its image does."""
    return Program("ours", (sys.executable, "-m", "function"), {"PYTHONPATH": str(ROOT)})


def echo() -> Program:
    """Return the SDK's echo."""
    return Program("echo", (sys.executable, str(Path(__file__).with_name("echo.py"))))


def peer(checkout: Path) -> Program:
    """Return Modelplane's compose-inference-cluster from a checkout, in an environment made for it."""
    folder = checkout / "functions" / "compose-inference-cluster"
    path = f"{folder}:{checkout / 'schemas' / 'python'}"
    return Program("peer", (str(_environment()), "-m", "function.main"), {"PYTHONPATH": path}, folder)


def _environment() -> Path:
    """Make, once, a virtual environment with the versions of this one, and pydantic; return its Python."""
    packages = [f"{name}=={version(name)}" for name in _SHARED] + ["pydantic>=2.11,<3"]
    folder = _CACHE / f"bench-peer-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:12]}"
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists():
        sys.stderr.write(f"making an environment for Modelplane's function in {folder}\n")
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        done.touch()
    return python


@dataclass
class Server:
    """A function that is being served."""

    program: Program
    address: str
    process: subprocess.Popen[bytes]
    first_answer: float  # seconds from the start of the process

    def cpu(self) -> float:
        """Return the CPU seconds used so far by all its threads, in the kernel's nanoseconds."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        spent = 0
        for task in tasks.iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
                spent += int((task / "schedstat").read_text().split()[0])
        return spent / 1e9

    def memory(self) -> float:
        """Return its resident memory in MiB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("a running process has resident memory")


@contextlib.contextmanager
def serve(program: Program, body: bytes) -> Iterator[Server]:
    """Start a function and yield it once it has answered `body`; it ends with the block."""
    address = f"127.0.0.1:{free_port()}"
    argv = [*program.argv, "--insecure", "--address", address]
    with tempfile.TemporaryFile("w+") as log:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **program.environment}
        began = time.monotonic()
        process = subprocess.Popen(argv, cwd=program.folder, env=environment, stdout=log, stderr=log)
        try:
            _await(address, body, process)
            yield Server(program, address, process, time.monotonic() - began)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await(address: str, body: bytes, process: subprocess.Popen[bytes]) -> None:
    host, port = address.split(":")
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            break
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} does not serve")
        time.sleep(0.002)
    with grpc.insecure_channel(address) as channel:
        channel.unary_unary(METHOD, bytes, bytes)(body, timeout=_START_SECONDS)

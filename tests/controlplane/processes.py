"""The supervisor's children: start, signal, reap, stop in order. Runs as pid 1 of a pid namespace."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from controlplane.errors import ControlPlaneError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class Spec:
    """How one process is started.

    `mounts` are (source, target) pairs bound in a mount namespace of its own; `private_tmp` puts a folder
    over /tmp there. Processes of a lower `phase` are stopped before those of a higher one.
    """

    name: str
    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    mounts: list[tuple[str, str]] = field(default_factory=list)
    private_tmp: str | None = None
    phase: int = 0

    def command(self) -> list[str]:
        """Return the argv that sets the mount namespace up and then becomes the program."""
        if not self.mounts and not self.private_tmp:
            return self.argv
        binds = "".join(f'mount --bind "${2 * n + 1}" "${2 * n + 2}"\n' for n in range(len(self.mounts)))
        paths = [path for pair in self.mounts for path in pair]
        program = self.argv[0]
        if self.private_tmp:
            # The program may itself lie below /tmp: hold it open and run it through its descriptor.
            binds = f'exec 9<"$(command -v "{program}")"\n{binds}mount --bind "{self.private_tmp}" /tmp\n'
            program = "/proc/self/fd/9"
        script = f'set -e\n{binds}shift {len(paths)}\nexec "$@"\n'
        return ["unshare", "--mount", "--", "sh", "-c", script, "sh", *paths, program, *self.argv[1:]]


@dataclass
class Process:
    """A started process and what became of it."""

    spec: Spec
    popen: subprocess.Popen[bytes]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    asked_to_end: bool = False
    code: int | None = None
    started: float = field(default_factory=time.time)

    def state(self) -> str:
        """Return running, stopped (asked to) or died (not asked to)."""
        if self.code is None:
            return "running"
        return "stopped" if self.asked_to_end else "died"

    def report(self) -> dict[str, Any]:
        """Return the state as the `status` operation shows it."""
        return {"pid": self.popen.pid, "state": self.state(), "code": self.code, "started": self.started}


class Processes:
    """All children by name."""

    def __init__(self, logs: Path, base_env: dict[str, str]) -> None:
        """Write logs below `logs`; `base_env` is what every process gets."""
        self._logs = logs
        self._base_env = base_env
        self.named: dict[str, Process] = {}
        self._unnamed: list[Process] = []

    def start(self, spec: Spec) -> Process:
        """Start a named process with a log of its own; ControlPlaneError if it runs or cannot start."""
        running = self.named.get(spec.name)
        if running and running.code is None:
            raise ControlPlaneError(f"{spec.name} runs already (pid {running.popen.pid}): stop or restart it")
        with (self._logs / f"{spec.name}.log").open("ab") as log:
            self.named[spec.name] = self._spawn(spec, (subprocess.DEVNULL, log.fileno(), log.fileno()))
        return self.named[spec.name]

    def run(self, spec: Spec, fds: Sequence[int]) -> Process:
        """Start a process of no name on the given stdin, stdout and stderr."""
        process = self._spawn(spec, (fds[0], fds[1], fds[2]))
        self._unnamed.append(process)
        return process

    def _spawn(self, spec: Spec, stdio: tuple[int, int, int]) -> Process:
        try:
            popen = subprocess.Popen(
                spec.command(),
                env={**self._base_env, **spec.env},
                cwd=spec.cwd,
                stdin=stdio[0],
                stdout=stdio[1],
                stderr=stdio[2],
                start_new_session=True,
            )
        except OSError as error:
            raise ControlPlaneError(f"cannot start {spec.name} ({spec.argv[0]}): {error}") from error
        return Process(spec, popen)

    def reap(self) -> None:
        """Collect every child that ended, orphans of components included (pid 1 inherits them)."""
        by_pid = {p.popen.pid: p for p in (*self.named.values(), *self._unnamed) if p.code is None}
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                process = by_pid.get(ended[0])
                if process:
                    process.code = process.popen.returncode = os.waitstatus_to_exitcode(ended[1])
                    process.ended.set()
        self._unnamed = [p for p in self._unnamed if p.code is None]

    def find(self, name: str) -> Process:
        """Return a named process, ended or not."""
        if name not in self.named:
            raise ControlPlaneError(f"no component {name!r}; there are {', '.join(sorted(self.named))}")
        return self.named[name]

    async def stop(
        self, process: Process, number: int = signal.SIGTERM, patience: float = PATIENCE_SECONDS
    ) -> None:
        """Signal a process and wait for its end, killing its session after `patience` seconds."""
        process.asked_to_end = True
        for attempt in (number, signal.SIGKILL):
            if process.code is not None:
                return
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.popen.pid, attempt)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.ended.wait(), patience)

    async def stop_all(self) -> None:
        """Stop phase after phase: those that use the API server, the API server, etcd."""
        everything = [*self._unnamed, *self.named.values()]
        for phase in sorted({process.spec.phase for process in everything}):
            await asyncio.gather(*(self.stop(p, patience=3) for p in everything if p.spec.phase == phase))

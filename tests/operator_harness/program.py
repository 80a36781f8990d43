"""A program under test as a process of its own: start, move its clock, kill, stop, read its log."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.kube import wait_until
from operator_harness.world import PATIENCE, World


@dataclass
class Program:
    """One process, and where it logs."""

    world: World
    folder: Path
    namespace: str | None = None
    kubeconfig: Path | None = None
    helm: str = ""
    drain_seconds: float = 20.0
    movable: bool = True
    """Whether its clock can be moved; that costs a look at a file on every use."""
    process: subprocess.Popen[bytes] | None = None
    offset: float = 0.0
    began_at: int = 0
    """Where in the log the present run began."""
    name = "program"

    @property
    def log_file(self) -> Path:
        """Where stderr goes, over restarts."""
        return self.folder / f"{self.name}.log"

    def launch(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start the process."""
        self.began_at = self.log_file.stat().st_size if self.log_file.exists() else 0
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(argv, stderr=log, stdout=log, env={**os.environ, **env})

    def move_clock(self, seconds: float) -> None:
        """Move the program's clock on, in one step that it cannot see half of."""
        self.offset += seconds
        half = self.folder / "clock.new"
        half.write_text(str(self.offset))
        half.replace(self.folder / "clock")

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to end and return its exit code."""
        return self._end(signal.SIGTERM)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let it do nothing within the block: what it sees next is what came of the whole block."""
        process = self._running()
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    @property
    def dead(self) -> bool:
        """Whether it ended by itself."""
        return self._running().poll() is not None

    def wait_dead(self, seconds: float = PATIENCE) -> None:
        """Wait for it to end by itself (a fail point)."""
        wait_until(lambda: self.dead, "the program dies", seconds, 0.02)

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self._running().pid

    def exit_code(self) -> int | None:
        """Return the code that it ended with, None while it runs."""
        return self._running().poll()

    def children(self) -> list[int]:
        """Return its child processes."""
        path = Path(f"/proc/{self._running().pid}/task/{self._running().pid}/children")
        return [int(child) for child in path.read_text().split()]

    def records(self, *, present: bool = False) -> list[dict[str, Any]]:
        """Return its log so far, or that of the present run, one object a line."""
        text = self.log_file.read_bytes() if self.log_file.exists() else b""
        lines = text[self.began_at if present else 0 :].decode(errors="replace").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]

    def complaints(self) -> list[dict[str, Any]]:
        """Return what it logged of unhandled exceptions, and lines that are no log records (tracebacks)."""
        text = self.log_file.read_text() if self.log_file.exists() else ""
        raw = [{"event": line} for line in text.splitlines() if not line.startswith("{")]
        return raw + [r for r in self.records() if "unhandled" in r["event"]]

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            raise RuntimeError("the program was never started")
        return self.process

    def _end(self, number: int) -> int:
        process = self._running()
        process.send_signal(number)
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise AssertionError("the program did not end")
            time.sleep(0.01)
        return process.returncode

    def close(self) -> None:
        """End it in any case."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

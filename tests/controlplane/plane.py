"""`Plane.up`: a whole local control plane as a context manager."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import sys
import time
from typing import TYPE_CHECKING, Literal, Self

from controlplane import boot, control, crossplane, layout, providers
from controlplane.errors import ControlPlaneError
from controlplane.launcher import Launched, alive, ending, launch
from controlplane.layout import Layout
from controlplane.options import Options
from controlplane.packages import Packages
from controlplane.running import RunningPlane
from controlplane.toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_STALE_SECONDS = 24 * 3600
_TAIL_LINES = 15


class Plane(RunningPlane):
    """A control plane of one's own, or one that `make up` started (`attach`)."""

    def __init__(self, state: Layout, tools: Toolbox, api_port: int) -> None:
        """Take a running plane; use `up` or `attach`."""
        super().__init__(state, tools, api_port)
        self.packages = Packages(self)
        self._launched: Launched | None = None
        self._options = Options()

    @classmethod
    def up(cls, name: str = "", options: Options | None = None) -> Self:
        """Start a plane and return it when everything in it answers.

        Use it as a context manager: at the end of the block nothing of it is left, and when the block raises
        the ends of all logs are printed. Without a name it gets a fresh one. ControlPlaneError when a plane
        of that name runs, when this machine does not allow it, or when a component does not come up.
        """
        options = options or Options()
        tools = Toolbox.ready()
        sweep()
        state = Layout(layout.planes_root() / (name or f"plane-{os.getpid()}-{secrets.token_hex(3)}"))
        # When the owner is killed nobody asks any more: then the logs stay for whoever looks for the cause.
        launched = launch(state.folder, [layout.API_SERVER], "logs")
        try:
            boot.write_secrets(state, options, f"https://127.0.0.1:{launched.ports[0]}")
            plane = cls(state, tools, launched.ports[0])
        except BaseException:
            launched.abort()
            raise
        plane._boot(launched, options)
        return plane

    def _boot(self, launched: Launched, options: Options) -> None:
        self._launched, self._options = launched, options
        with self._closed_on_error():
            boot.start_kubernetes(self, options)
            if options.crossplane:
                crossplane.install(self, options)
                providers.install(self, self.packages, options)
            boot.describe(self, launched.ports[0])

    @classmethod
    def attach(cls, name: str = "default") -> Self:
        """Return a handle on a running plane that something else owns."""
        state = Layout(layout.planes_root() / name)
        if not state.description.exists():
            raise ControlPlaneError(f"no control plane named {name!r} is up: start it with `make up`")
        control.request(state.folder, {"op": "status"})
        return cls(state, Toolbox.ready(), json.loads(state.description.read_text())["api_port"])

    def detach(self) -> None:
        """Let the plane live on after this process, until `Plane.attach(name).close()`."""
        self._control("detach")
        launched, self._launched = self._launched, None
        if launched:
            launched.release()

    def close(self, keep: Literal["none", "logs", "all"] | None = None) -> None:
        """Stop everything in order; `keep`, else the options, says what stays on disk. May be repeated."""
        launched, self._launched = self._launched, None
        with ending(self.state.folder):
            with contextlib.suppress(ControlPlaneError):
                self._control("shutdown", keep=keep or self._options.keep)
            if launched:
                launched.end()

    def report(self) -> str:
        """Return the end of every component's log."""
        parts = []
        for path in sorted(self.state.private("logs").glob("*.log")):
            parts.append(f"--- {path.stem} ({path})")
            parts.append(self.logs(path.stem, _TAIL_LINES))
        return "\n".join(parts)

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._fail()
            raise

    def _fail(self) -> None:
        sys.stderr.write(self.report() + "\n")
        self.close("all" if self._options.keep == "all" else "logs")

    def __enter__(self) -> Self:
        """Return the plane itself; it is up already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the plane; print the ends of the logs when the block or a component failed."""
        if kind is not None:
            self._fail()
            return
        with self._closed_on_error():
            self.check()
        self.close()


def sweep() -> None:
    """Remove what planes that ended more than a day ago left (logs of failed ones)."""
    root = layout.planes_root()
    for folder in root.iterdir() if root.exists() else ():
        old = folder.is_dir() and time.time() - folder.stat().st_mtime > _STALE_SECONDS
        if old and not alive(folder):
            shutil.rmtree(folder, ignore_errors=True)

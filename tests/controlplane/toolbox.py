"""Builds the programs of `catalog.py` into a cache outside the tree and says where each lies.

The cache is keyed by content: go.mod, go.sum, own sources, packages, flags and asset folders of a module.
The Go version is left out on purpose, so that a machine whose cache is filled needs no Go at all; the entry
records it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from controlplane.catalog import MODULES, TESTS_ONLY, Module
from controlplane.errors import BuildError
from controlplane.toolchain import find_go

HEARTBEAT_SECONDS = 15.0
Report = Callable[[str], None]


def cache_root() -> Path:
    """Return this project's folder under the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "function-inference-cluster"


def key(module: Module) -> str:
    """Return the content key of a module: everything that decides what is built from it."""
    fields = asdict(module)
    if not module.tags:
        del fields["tags"]  # So that what was built before there were tags stays in the cache.
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode())
    for name in ("go.mod", "go.sum", *sorted(path.name for path in module.path.glob("*.go"))):
        digest.update((module.path / name).read_bytes())
    return digest.hexdigest()[:16]


def entry(module: Module) -> Path:
    """Return the cache folder of a module; complete as soon as it exists."""
    return cache_root() / "bin" / f"{module.name}-{key(module)}"


@dataclass(frozen=True)
class Toolbox:
    """Where the built programs and the files taken from their modules lie."""

    programs: dict[str, Path]
    assets: dict[str, Path]

    @classmethod
    def ready(cls, report: Report | None = None, also: Collection[str] = ()) -> Toolbox:
        """Return the toolbox, building what the cache lacks, one module at a time.

        `also` names modules beside those that every plane needs.
        """
        wanted = [module for module in MODULES if module.folder not in TESTS_ONLY or module.folder in also]
        missing = [module for module in wanted if not entry(module).exists()]
        for number, module in enumerate(missing, 1):
            ensure(module, f"[{number}/{len(missing)}]", report or _print)
        return cls(dict(_programs(MODULES)), dict(_assets(MODULES)))

    @staticmethod
    def built(program: str) -> Path | None:
        """Return the path of a program that is in the cache already, building nothing."""
        path = dict(_programs(MODULES))[program]
        return path if path.exists() else None

    def __getitem__(self, program: str) -> str:
        """Return the absolute path of a program."""
        return str(self.programs[program])


def _programs(modules: Iterable[Module]) -> Iterator[tuple[str, Path]]:
    for module in modules:
        for command in module.commands:
            yield command, entry(module) / command


def _assets(modules: Iterable[Module]) -> Iterator[tuple[str, Path]]:
    for module in modules:
        for asset in module.assets:
            yield asset, entry(module) / "assets" / asset


def _print(line: str) -> None:
    sys.stderr.write(f"{line}\n")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure(module: Module, position: str, report: Report) -> None:
    """Build one module into the cache unless it is there; `position` goes before each line of progress."""
    target = entry(module)
    with _locked(target.parent / f".{target.name}.lock"):
        # Another `make` may have built it while this one waited for the lock.
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{module.name}-") as work:
                fill(module, Path(work) / "entry", find_go(), lambda line: report(f"{position} {line}"))
                (Path(work) / "entry").rename(target)


def fill(module: Module, folder: Path, go: Path, report: Report) -> None:
    """Build one module and copy its assets into `folder`."""
    folder.mkdir()
    started = time.monotonic()
    report(f"building {', '.join(module.commands)}")
    _build(module, folder, go, report)
    for name, (source, path) in module.assets.items():
        shutil.copytree(_module_dir(module, go, source) / path, folder / "assets" / name)
    _make_writable(folder)
    (folder / "go-version").write_text(_go(go, module, "version"))
    report(f"built {', '.join(module.commands)} in {time.monotonic() - started:.0f} s")


def _build(module: Module, folder: Path, go: Path, report: Report) -> None:
    # With one package the output is named by us, with several each is named after its package's last element.
    out = str(folder) + "/" if len(module.commands) > 1 else str(folder / next(iter(module.commands)))
    flags = ["-trimpath", "-buildvcs=false", "-ldflags", f"-s -w {module.ldflags}".strip()]
    flags += ["-tags", ",".join(module.tags)] if module.tags else []
    command = [str(go), "build", *flags, "-o", out, *module.commands.values()]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, cwd=module.path, env=_environment(), stdout=log, stderr=log)
        try:
            _wait(process, module, report)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            log.seek(0)
            tail = "".join(log.readlines()[-20:])
            raise BuildError(f"`{' '.join(command)}` in {module.path} failed:\n{tail}")


def _wait(process: subprocess.Popen[bytes], module: Module, report: Report) -> None:
    started = time.monotonic()
    while True:
        try:
            process.wait(HEARTBEAT_SECONDS)
        except subprocess.TimeoutExpired:
            report(f"still building {module.name}: {time.monotonic() - started:.0f} s")
        else:
            return


def _environment() -> dict[str, str]:
    # GOFLAGS of the user could ask for other modules or tags than go.sum pins; a workspace file likewise.
    return {**os.environ, "GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "0"}


def _go(go: Path, module: Module, *arguments: str) -> str:
    done = subprocess.run(
        [go, *arguments], cwd=module.path, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"`go {' '.join(arguments)}` in {module.path} failed: {done.stderr.strip()}")
    return done.stdout


def _module_dir(module: Module, go: Path, path: str) -> Path:
    return Path(json.loads(_go(go, module, "mod", "download", "-json", path))["Dir"])


def _make_writable(folder: Path) -> None:
    # The Go module cache is read-only; a cache entry must be removable by an ordinary `rm -r`.
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)

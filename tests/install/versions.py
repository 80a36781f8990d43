"""Two versions of all that can be installed: the tree as it is, and one that differs where it is seen."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from images import builds
from package.images import fetch, table
from package.images.sources import ROOT
from support import documented, from_registry, registry

if TYPE_CHECKING:
    from controlplane.plane import Plane

OLD, NEW = "v0.1.0", "v0.2.0"
_PUSH_SECONDS = 1000.0
# What the new version's function says in place of what this one does.
REASON, NEW_REASON = "BackendHealthy", "BackendHealthyAgain"


def publish(plane: Plane, folder: Path) -> None:
    """Build both versions and push them as the README says, unless another worker has done so."""
    with (plane.state.folder / "publish.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _pushed(plane, NEW).exists():
            _fetch()
            _push(plane, OLD, _clone(folder / "old"))
            _push(plane, NEW, _newer(folder / "new"))


def note_push(plane: Plane, tag: str, command: str) -> None:
    """Note that this command, of the documents, has pushed this version, by whatever worker."""
    assert _pushed(plane, tag).read_text() == command
    documented.note(command)


def _pushed(plane: Plane, tag: str) -> Path:
    """Return the file that has the command which pushed a version."""
    return plane.state.folder / f"pushed-{tag}"


def _fetch() -> None:
    """Have everything that images are made of in the cache: inside a plane there is no network."""
    for package in fetch.locked():
        fetch.deb(package)
    for row in table.IMAGES:
        fetch.wheels(ROOT / row.requirements)


def _push(plane: Plane, tag: str, tree: Path) -> None:
    """Type the documented command in the tree, with a stack of charts that can be had here."""
    command = registry.documented("Install")[0]
    settings = from_registry.variant(plane, tag).settings
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = ":".join(str(folder) for folder in (tree, tree / "operator", tree / "tests"))
    env = {"SETTINGS": str(settings), "XDG_CACHE_HOME": cache, "PYTHONPATH": path}
    env |= {"PATH": os.environ["PATH"], "HOME": str(plane.state.private("tmp", "home"))}
    typed = command.replace(registry.DOCUMENTED, registry.REGISTRY)
    done = plane.run(["bash", "-ec", f"umask 022; cd '{tree}' && {typed}"], env, timeout=_PUSH_SECONDS)
    assert done.code == 0, done.stderr
    assert f"{registry.REGISTRY}/llm-operator:{tag}" in done.stdout.split()
    _pushed(plane, tag).write_text(command)


def _clone(tree: Path) -> Path:
    """Return a clone of the tree, with the environment of the one that the tests run in."""
    builds.clone(tree, "tests", "Makefile")
    (tree / ".venv").symlink_to(sys.prefix)
    for file in ("pyproject.toml", "tests/requirements.lock"):
        os.utime(tree / file, (0, 0))  # the environment has what they ask for
    return tree


def _newer(tree: Path) -> Path:
    _clone(tree)
    _replace(tree / "pyproject.toml", f'version = "{OLD[1:]}"', f'version = "{NEW[1:]}"')
    os.utime(tree / "pyproject.toml", (0, 0))
    _replace(tree / "function" / "cluster" / "status.py", f'"{REASON}"', f'"{NEW_REASON}"')
    return tree


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, f"{file.name} has no {old}"
    file.write_text(text.replace(old, new))

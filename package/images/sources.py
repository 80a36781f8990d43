"""Reads the product's own files from the tree, and the programs that the images carry."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

from package.images import buildinfo
from package.images.errors import ImageError
from package.images.tree import Entry

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs.lock.json"
_SUFFIXES = (".py", ".yaml")
_NAMES = ("py.typed",)


def own(root: Path, sources: tuple[tuple[str, str], ...]) -> list[Entry]:
    """Return the files of import packages, by their import names, and the licence."""
    found = [Entry("LICENSE", data=(root / "LICENSE").read_bytes())]
    for folder, name in sources:
        paths = sorted(path for path in (root / folder).rglob("*") if _wanted(path))
        if not paths:
            raise ImageError(f"{root / folder} has no file that an image would take")
        found += [Entry(f"{name}/{p.relative_to(root / folder)}", data=p.read_bytes()) for p in paths]
    return found


def _wanted(path: Path) -> bool:
    return path.is_file() and (path.suffix in _SUFFIXES or path.name in _NAMES)


def version(root: Path) -> str:
    """Return the product's version."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def requirements(root: Path, extra: str) -> list[str]:
    """Return what one extra of the project asks for, without what the project itself does."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    found: list[str] = project["optional-dependencies"][extra]
    return found


def program(name: str, path: Path) -> tuple[bytes, str]:
    """Return a program's content, and a remark when it cannot be the recorded one.

    ImageError when it was built by the recorded version of Go and is another program all the same.
    """
    content = path.read_bytes()
    recorded = json.loads(PROGRAMS.read_text())[name]
    if hashlib.sha256(content).hexdigest() == recorded["sha256"]:
        return content, ""
    go = buildinfo.read(content).go
    if go == recorded["go"]:
        raise ImageError(
            f"{path} is not the {name} that {PROGRAMS.name} records: `make lock-images` records it"
        )
    return content, f"{name} was built by {go}, not by {recorded['go']}: the image gets a digest of its own"


def record(programs: dict[str, Path]) -> None:
    """Record the programs as they are, for `program` to compare."""
    found = {}
    for name, path in sorted(programs.items()):
        content = path.read_bytes()
        found[name] = {"go": buildinfo.read(content).go, "sha256": hashlib.sha256(content).hexdigest()}
    PROGRAMS.write_text(json.dumps(found, indent=1) + "\n")

"""Reads which modules a Go program was built from, out of the program itself (as `go version -m` does)."""

from __future__ import annotations

from typing import NamedTuple

from package.images.errors import ImageError

_MAGIC = b"\xff Go buildinf:"
_INLINE = 2  # since Go 1.18 the two strings stand inline, after a header of 32 bytes
_HEADER = 32
_UNVERSIONED = "(devel)"
_SENTINEL = 16  # the module list is wrapped in markers of this length


class Module(NamedTuple):
    """A Go module."""

    path: str
    version: str


class BuildInfo(NamedTuple):
    """The Go version, and the modules, the program's own dependency tree."""

    go: str
    modules: tuple[Module, ...]


def read(program: bytes) -> BuildInfo:
    """Return the build information of a Go program; ImageError when it carries none."""
    start = program.find(_MAGIC)
    if start < 0 or not program[start + 15] & _INLINE:
        raise ImageError("this program carries no Go build information: it was not built by Go 1.18 or later")
    go, position = _string(program, start + _HEADER)
    modules, _ = _string(program, position)
    lines = modules[_SENTINEL:-_SENTINEL].decode(errors="strict").splitlines()
    return BuildInfo(go.decode(), tuple(_modules(lines)))


def _string(program: bytes, position: int) -> tuple[bytes, int]:
    length = shift = 0
    while True:
        byte = program[position]
        position += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return program[position : position + length], position + length


def _modules(lines: list[str]) -> list[Module]:
    """Return the program's own module and its dependencies; a `=>` line replaces the one before it."""
    found: list[Module] = []
    for line in lines:
        word, *rest = line.split("\t")
        if word == "=>":
            found[-1] = Module(rest[0], rest[1])
        elif word == "dep" or (word == "mod" and rest[1] != _UNVERSIONED):
            found.append(Module(rest[0], rest[1]))
    return found

"""Reads a Python wheel: bytes in, name, version and the entries below a site folder out."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from email.parser import HeaderParser

from package.images.errors import ImageError
from package.images.tree import Entry

_INTO_SITE = ("purelib", "platlib")
# Command line scripts name the interpreter of whoever installs; nothing reads headers and man pages here.
_LEFT_OUT = ("scripts", "headers", "data")


@dataclass(frozen=True)
class Wheel:
    """A distribution's metadata and its files, paths relative to the site folder."""

    name: str
    version: str
    licence: str
    entries: tuple[Entry, ...]


def read(content: bytes) -> Wheel:
    """Return what a wheel holds; ImageError when it is not one."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        found = [name for name in names if name.count("/") == 1 and name.endswith(".dist-info/METADATA")]
        if len(found) != 1:
            raise ImageError(f"this is no wheel: it has {len(found)} METADATA files")
        metadata = HeaderParser().parsestr(archive.read(found[0]).decode())
        pairs = [(name, site_path(name)) for name in sorted(names)]
        entries = tuple(_entry(archive, name, path) for name, path in pairs if path)
    return Wheel(metadata["Name"], metadata["Version"], metadata["License-Expression"] or "", entries)


def site_path(name: str) -> str:
    """Return where a wheel's member goes below the site folder, or nothing when it is left out."""
    head, _, rest = name.partition("/")
    if not head.endswith(".data"):
        return name
    kind, _, path = rest.partition("/")
    if kind in _INTO_SITE:
        return path
    if kind in _LEFT_OUT:
        return ""
    raise ImageError(f"a wheel has {name}: {kind!r} is no kind of data that a wheel may have")


def _entry(archive: zipfile.ZipFile, name: str, path: str) -> Entry:
    executable = (archive.getinfo(name).external_attr >> 16) & 0o111
    return Entry(path, "file", 0o755 if executable else 0o644, archive.read(name))

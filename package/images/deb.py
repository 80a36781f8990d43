"""Reads a Debian package: bytes in, its fields and the entries of its file tree out."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from package.images.errors import ImageError
from package.images.tree import Entry, usr_merged

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"!<arch>\n"
_HEADER = 60


@dataclass(frozen=True)
class Deb:
    """A package's control file, as it stands and as fields, and its files."""

    control: str
    fields: dict[str, str]
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """The package's name."""
        return self.fields["Package"]

    @property
    def version(self) -> str:
        """Its version, epoch included."""
        return self.fields["Version"]


def read(content: bytes) -> Deb:
    """Return what a .deb file holds; ImageError when it is not one."""
    parts = {name.split(".")[0]: data for name, data in _members(content)}
    if not {"control", "data"} <= parts.keys():
        raise ImageError("this is no Debian package: it has no control and data archive")
    with tarfile.open(fileobj=io.BytesIO(parts["control"])) as archive:
        (name,) = [name for name in archive.getnames() if name.removeprefix("./") == "control"]
        member = archive.extractfile(name)
        control = member.read().decode() if member else ""
    with tarfile.open(fileobj=io.BytesIO(parts["data"])) as archive:
        entries = tuple(_entries(archive))
    return Deb(control, _fields(control), entries)


def _members(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the members of an ar archive."""
    if not content.startswith(_MAGIC):
        raise ImageError("this is no Debian package: it does not begin as an ar archive does")
    position = len(_MAGIC)
    while position + _HEADER <= len(content):
        header = content[position : position + _HEADER]
        size = int(header[48:58])
        start = position + _HEADER
        yield header[:16].decode().strip().rstrip("/"), content[start : start + size]
        position = start + size + size % 2


def _fields(control: str) -> dict[str, str]:
    lines = [line for line in control.splitlines() if line and not line[0].isspace()]
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _entries(archive: tarfile.TarFile) -> Iterator[Entry]:
    for member in archive:
        path = usr_merged(member.name.removeprefix("./").strip("/"))
        if path and path != ".":
            yield _entry(archive, member, path)


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> Entry:
    if member.isdir():
        return Entry(path, "folder", member.mode & 0o1777)
    if member.issym():
        return Entry(path, "link", 0o777, target=member.linkname)
    # A hard link is read through to what it names. Set-user-ID bits are dropped: nothing here needs them.
    source = archive.extractfile(member)
    if source is None:
        raise ImageError(f"/{path} is neither file, folder nor link: an image takes no such entry")
    return Entry(path, "file", 0o755 if member.mode & 0o111 else 0o644, source.read())

"""A file tree as a value: entries by path, merged without surprises, filtered by patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from package.images.errors import ImageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Debian 12's packages still ship some files under the folders that /usr has taken over.
_MERGED = re.compile(r"^(bin|sbin|lib|lib64)(?=/|$)")
MERGED_LINKS = ("bin", "lib", "lib64")  # nothing that is kept lies in sbin


@dataclass(frozen=True)
class Entry:
    """One file, folder or symbolic link; `path` has no leading slash, `target` is a link's."""

    path: str
    kind: Literal["file", "folder", "link"] = "file"
    mode: int = 0o644
    data: bytes = b""
    target: str = ""


Tree = dict[str, Entry]


def folder(path: str, mode: int = 0o755) -> Entry:
    """Return a folder."""
    return Entry(path, "folder", mode)


def link(path: str, target: str) -> Entry:
    """Return a symbolic link."""
    return Entry(path, "link", 0o777, target=target)


def text(path: str, content: str) -> Entry:
    """Return a file that anybody may read."""
    return Entry(path, data=content.encode())


def merged(entries: Iterable[Entry]) -> Tree:
    """Return the entries by path; ImageError when two that differ claim the same one."""
    tree: Tree = {}
    for entry in entries:
        known = tree.setdefault(entry.path, entry)
        if known != entry and not known.kind == entry.kind == "folder":
            raise ImageError(f"two sources of one image both bring /{entry.path}, with different content")
    return tree


def without(entries: Iterable[Entry], patterns: Sequence[str], kept: Sequence[str] = ()) -> list[Entry]:
    """Leave out what matches one of the patterns and none of `kept`; `*` also matches slashes."""
    return [e for e in entries if not matches(e.path, patterns) or matches(e.path, kept)]


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Say whether a path matches one of the patterns; `*` also matches slashes."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def usr_merged(path: str) -> str:
    """Return where a path of a package really is, now that /bin, /lib and so on are links into /usr."""
    return _MERGED.sub(r"usr/\1", path)


def with_parents(tree: Tree) -> Tree:
    """Add the folders that no entry names, and leave out those in which nothing was kept."""
    needed = {str(p) for e in tree.values() if e.kind != "folder" for p in PurePosixPath(e.path).parents}
    folders = {path: tree.get(path, folder(path)) for path in needed - {"."}}
    # A folder of a mode of its own, such as /tmp, is meant even when empty.
    meant = {p: e for p, e in tree.items() if e.kind != "folder" or (e.mode != folder(p).mode)}
    return dict(sorted({**folders, **meant}.items()))

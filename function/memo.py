"""Remembers what was made of some bytes, up to a bound.

Keys are exact: whoever looks up has all the bytes that matter in the key, or compares them with what is
found, so an answer is never another one's. Values are shared between calls and must not be changed.
"""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memo(Generic[K, V]):
    """At most `most` entries; the one that was learned first is forgotten first."""

    __slots__ = ("_known", "_most")

    def __init__(self, most: int) -> None:
        """Remember nothing yet."""
        self._known: dict[K, V] = {}
        self._most = most

    def get(self, key: K) -> V | None:
        """Return what was remembered, or None."""
        return self._known.get(key)

    def put(self, key: K, value: V) -> V:
        """Remember, forgetting the oldest where there is no room; return the value."""
        if len(self._known) >= self._most and key not in self._known:
            del self._known[next(iter(self._known))]
        self._known[key] = value
        return value

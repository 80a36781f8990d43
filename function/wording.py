"""Words for messages: sorted, stable, short."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_NAMED = 20


def listed(names: Sequence[str]) -> str:
    """Name at most 20, in the order given, and count the rest."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more

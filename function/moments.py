"""Moments as the API writes them: RFC 3339 in UTC, whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime

Moment = datetime
"""A moment with its time zone; decisions are given one, and read no clock."""


def text(moment: Moment) -> str:
    """Return a moment as text."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(written: str, now: Moment) -> float:
    """Return the seconds from a written moment until `now`; 0 where it cannot be read."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return 0.0
    return (now - moment).total_seconds() if moment.tzinfo else 0.0

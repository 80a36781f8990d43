"""A program's clock: real time, plus an offset that tests put into a file.

Servers keep their own time.
"""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

GLANCE = 0.05
"""Seconds between looks at the offset file, and the longest sleep while there is one."""


class Clock:
    """Real time.

    With `offset_file`, moved by the number of seconds that stands in it (none while it is empty).
    """

    def __init__(self, offset_file: str | None = None) -> None:
        """Remember the file; it is read at each use, so that a test can move the clock at any moment."""
        self._file = Path(offset_file) if offset_file else None

    def now(self) -> datetime:
        """Return the controller's time, in UTC."""
        return datetime.now(UTC) + self._offset()

    def monotonic(self) -> float:
        """Return seconds that only grow while the offset stays: for how long ago something was seen."""
        return time.monotonic() + self._offset().total_seconds()

    def until(self, moment: datetime) -> float:
        """Return how many seconds to sleep before looking again whether `moment` has come."""
        left = max((moment - self.now()).total_seconds(), 0.0)
        return left if self._file is None else min(left, GLANCE)

    def _offset(self) -> timedelta:
        if self._file is None:
            return timedelta(0)
        try:
            return timedelta(seconds=float(self._file.read_text() or 0))
        except (OSError, ValueError):
            return timedelta(0)  # Not there yet, or half written: the next look reads it.

"""What a check finds. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from modelctl.snapshot.objects import Snapshot


class Severity(Enum):
    """How bad it is: an error loses order or hangs, a warning may; the worst come first."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: the object, what is wrong with it, and the command to run next."""

    severity: Severity
    object: str
    what: str
    command: str


@dataclass(frozen=True, slots=True)
class View:
    """What a check looks at: the snapshot, and how long something may take before it counts as stuck."""

    snapshot: Snapshot
    patience: timedelta

    def late(self, since: object) -> bool:
        """Whether a time of the API is longer ago than anything should take."""
        return bool(since) and self.snapshot.age(since) >= self.patience


Check = Callable[[View], Iterator[Finding]]


def error(what: object, text: str, command: str) -> Finding:
    """Return a finding that loses order, or hangs."""
    return Finding(Severity.ERROR, str(what), text, command)


def warning(what: object, text: str, command: str) -> Finding:
    """Return a finding that may do harm."""
    return Finding(Severity.WARNING, str(what), text, command)

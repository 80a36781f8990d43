"""The frozen values of the autoscaler. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

UNINSTALLING = "uninstalling"
"""The `holdReason` of a release that is on its way out."""


class Verdict(StrEnum):
    """What came of looking at a role. The first two change its replicas, all others hold."""

    SCALE = "Scale"
    BOUND = "Bound"
    ON_TARGET = "OnTarget"
    COOLING = "Cooling"
    NO_DATA = "NoData"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a query answered: one number per series, or why there is no answer."""

    samples: tuple[float, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of a role between looks, in the ConfigMap, so for all replicas of the server.

    `since` is when its replicas were last changed, or, while they were not (`scaled` False), when it was
    first looked at with an answer.
    """

    since: datetime
    scaled: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the decision about one role reads. `current` is None where the values do not set it."""

    now: datetime
    current: int | None
    reading: Reading
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about one role. `replicas` is None unless something is to be applied."""

    verdict: Verdict
    message: str
    replicas: int | None = None
    memory: Memory | None = None

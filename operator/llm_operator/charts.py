"""What helm works on: a release, a chart, and what of the chart is applied. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Target:
    """Which release, and as whom.

    `user` impersonates (`system:serviceaccount:NS:NAME`), None means ourselves.
    """

    namespace: str
    release: str
    user: str | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Where a chart comes from.

    `reference` as helm takes it, `repository` for charts of a classic repository.
    """

    reference: str
    version: str
    repository: str | None = None
    plain_http: bool = False


@dataclass(frozen=True, slots=True)
class Apply:
    """What an install or upgrade applies.

    Values in their order of precedence, labels for the record, a timeout.
    """

    values: tuple[bytes, ...]
    labels: Mapping[str, str]
    timeout: timedelta
    reuse_values: bool = False
    """Whether the values of the release stay where `values` do not say otherwise."""
    secrets: tuple[str, ...] = ()
    """Texts that came from Secrets: taken out of whatever helm prints."""

"""Replicas in a chart's values: read at a place such as `prefill.replicas`, and written there. Pure."""

from collections.abc import Mapping
from functools import reduce
from typing import Any


class ValuesError(ValueError):
    """The values have something else where the replicas should be; the message says what, on one line."""


def replicas(values: Mapping[str, Any], path: str) -> int | None:
    """Return the replicas that stand at a place, None where nothing does; raises ValuesError."""
    found: object = values
    for part in path.split("."):
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise ValuesError(f"values.{path} is inside {found!r:.40}: name another place in the policy")
        found = found.get(part)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise ValuesError(f"values.{path} is {found!r:.40}: it must be a whole number of 0 or more")
    return found


def change(wanted: Mapping[str, int]) -> dict[str, Any]:
    """Return the values that set replicas at each place, to be laid over those that are applied."""
    made: dict[str, Any] = {}
    for path, number in wanted.items():
        *outer, last = path.split(".")
        reduce(lambda block, part: block.setdefault(part, {}), outer, made)[last] = number
    return made

"""The knobs of a teardown: annotation over `spec.deletion` over default. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from llm_operator.api import GROUP
from llm_operator.durations import DurationError, parse_wait

DEFAULT_MAX_WAIT = timedelta(hours=1)
DEFAULT_ROUTE_SETTLE = timedelta(seconds=60)
POLICY_ANNOTATION = f"{GROUP}/deletion-policy"
ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Knob:
    """One duration: its field in `spec.deletion`, its annotation, its default (None: off) and its meaning."""

    field: str
    annotation: str
    default: timedelta | None
    meaning: str


MAX_WAIT = Knob(
    "maxWait",
    f"{GROUP}/deletion-max-wait",
    DEFAULT_MAX_WAIT,
    "The whole budget of a teardown from startedAt; past it the finalizer is dropped. Default 1h.",
)
ROUTE_SETTLE = Knob(
    "routeSettle",
    f"{GROUP}/route-settle",
    DEFAULT_ROUTE_SETTLE,
    "How long to wait after the ModelRoute is gone before the release is uninstalled. Default 60s.",
)
FORCE_DELETE_AFTER = Knob(
    "forceDeleteAfter",
    f"{GROUP}/force-delete-after",
    None,
    "Delete pods with grace 0 that have been terminating for longer than this. Unset: never.",
)
KNOBS = (MAX_WAIT, ROUTE_SETTLE, FORCE_DELETE_AFTER)


@dataclass(frozen=True, slots=True)
class Invalid:
    """A value that was not understood, and where it stands."""

    where: str
    value: str
    problem: str


@dataclass(frozen=True, slots=True)
class Knobs:
    """The knobs in force on this pass, and what was not understood on the way."""

    max_wait: timedelta = DEFAULT_MAX_WAIT
    route_settle: timedelta = DEFAULT_ROUTE_SETTLE
    force_delete_after: timedelta | None = None
    orphan: bool = False
    invalid: tuple[Invalid, ...] = ()


def read_knobs(annotations: Mapping[str, str], deletion: Mapping[str, Any]) -> Knobs:
    """Read the knobs from an LLMService's annotations and its `spec.deletion`.

    A value that is not understood falls back to the next layer and is reported in `invalid`.
    """
    invalid: list[Invalid] = []
    max_wait, settle, force = (_duration(knob, annotations, deletion, invalid) for knob in KNOBS)
    return Knobs(
        max_wait=max_wait if max_wait is not None else DEFAULT_MAX_WAIT,
        route_settle=settle if settle is not None else DEFAULT_ROUTE_SETTLE,
        force_delete_after=force,
        orphan=_orphan(annotations, invalid),
        invalid=tuple(invalid),
    )


def _duration(
    knob: Knob, annotations: Mapping[str, str], deletion: Mapping[str, Any], invalid: list[Invalid]
) -> timedelta | None:
    layers = (
        (annotations, knob.annotation, knob.annotation),
        (deletion, knob.field, f"spec.deletion.{knob.field}"),
    )
    for layer, key, where in layers:
        text = layer.get(key)
        if text is None:
            continue
        try:
            return parse_wait(str(text))
        except DurationError as error:
            invalid.append(Invalid(where, str(text), str(error)))
    return knob.default


def _orphan(annotations: Mapping[str, str], invalid: list[Invalid]) -> bool:
    policy = annotations.get(POLICY_ANNOTATION)
    if policy not in (None, ORPHAN):
        invalid.append(
            Invalid(POLICY_ANNOTATION, str(policy), f"{policy!r} is not a deletion policy: use {ORPHAN}")
        )
    return policy == ORPHAN

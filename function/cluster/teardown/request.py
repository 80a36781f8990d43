"""What an InferenceCluster says of its deletion, and which stage is when. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from function import serving, structs
from function.cluster.services import CONFIG
from function.model import ATTEMPT_ANNOTATION, EARLIER_ANNOTATION, STACK

if TYPE_CHECKING:
    from function.observed import Resource
    from function.wire import Struct

ORPHAN = "Orphan"


class Stage(Enum):
    """The stages in order; the values are the reasons of the Teardown condition."""

    WAITING_FOR_USERS = "WaitingForUsers"
    DRAINING_SERVICES = "DrainingServices"
    REMOVING_SERVING_STACK = "RemovingServingStack"
    REMOVING_CLUSTER = "RemovingCluster"
    RELEASED = "Released"
    DELETION_PENDING = "DeletionPending"

    def reached(self, other: Stage) -> bool:
        """Whether this stage is `other` or comes after it."""
        return _NUMBER[self] >= _NUMBER[other]

    @property
    def following(self) -> Stage:
        """The next stage; the last one has none and returns itself."""
        return tuple(Stage)[min(_NUMBER[self] + 1, len(Stage) - 1)]


_NUMBER = {stage: number for number, stage in enumerate(Stage)}


@dataclass(frozen=True, slots=True)
class Record:
    """What status.teardown says; `stage` is None before a teardown.

    `releases` counts how often the guard was let go of, `released_at` is when that was last (RFC 3339).
    """

    stage: Stage | None = None
    started_at: str = ""
    releases: int = 0
    released_at: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. `attempt` is the propagation policy of a delete that was tried and refused.

    `composite` is the InferenceCluster as observed, for what is passed on unchanged.
    """

    name: str
    staged: bool
    attempt: str
    record: Record
    composite: Struct

    @property
    def underway(self) -> bool:
        """Whether something may have been dropped already: from then on nothing cancels."""
        stage = self.record.stage
        return stage is not None and stage.reached(Stage.DRAINING_SERVICES)


def read(composite: Struct) -> Request:
    """Read the request; fields that are missing or of a wrong type read as empty."""
    written = structs.block(composite, "status", "teardown")
    record = Record() if written is None else _record(written)
    return Request(
        name=structs.text(composite, "metadata", "name"),
        staged=structs.text(composite, "spec", "deletion", "mode") == "Staged",
        attempt=structs.text(composite, "metadata", "annotations", ATTEMPT_ANNOTATION),
        record=record,
        composite=composite,
    )


def _record(written: Struct) -> Record:
    stage, started_at, released_at = structs.texts(written, "stage", "startedAt", "releasedAt")
    releases = structs.plain(structs.get(written, "releases"))
    known = next((s for s in Stage if s.value == stage), None)
    return Record(known, started_at, releases if isinstance(releases, int) else 0, released_at)


def stage_of(key: str) -> Stage:
    """Return the stage that drops a composed resource that is no Usage."""
    if serving.is_service_key(key):
        return Stage.DRAINING_SERVICES
    if key in (STACK, CONFIG):
        return Stage.REMOVING_SERVING_STACK
    return Stage.REMOVING_CLUSTER


def earlier_attempt(request: Request, gate: Resource | None) -> str:
    """Return the policy of an attempt that was recorded before the gate could have refused it.

    Another guard refused it, perhaps last month: a change of mode must not carry it out. It counts as earlier
    until it is taken off, or another one replaces it.
    """
    if gate is None:
        return request.attempt
    earlier = structs.text(gate.body, "metadata", "annotations", EARLIER_ANNOTATION)
    return earlier if earlier == request.attempt else ""


def begins(request: Request, gate: Resource | None) -> bool:
    """Whether a delete was refused that is to be carried out stage by stage."""
    if not request.staged or request.attempt in ("", ORPHAN):
        return False
    return not earlier_attempt(request, gate)

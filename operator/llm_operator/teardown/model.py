"""The values that flow through a teardown. Frozen, without behaviour that reads a clock or calls anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from llm_operator.pods import Pod, parse_time
from llm_operator.records import Held
from llm_operator.routes import Route
from llm_operator.teardown.knobs import Knobs


class Phase(StrEnum):
    """`status.phase`."""

    PENDING = "Pending"
    INSTALLING = "Installing"
    READY = "Ready"
    FAILED = "Failed"
    SUSPENDED = "Suspended"
    DELETING = "Deleting"


class Stage(StrEnum):
    """The stages of a teardown, in their order; a stored stage only ever moves forward."""

    ROUTE_REMOVING = "RouteRemoving"
    ROUTE_SETTLING = "RouteSettling"
    UNINSTALLING = "Uninstalling"
    PODS_TERMINATING = "PodsTerminating"
    FORCE_DELETING = "ForceDeleting"
    RELEASED = "Released"


class Outcome(StrEnum):
    """How a teardown went, from best to worst; the worst that happened is kept."""

    CLEAN = "Clean"
    NO_ROUTE = "NoRoute"
    ROUTE_STUCK = "RouteStuck"
    PODS_FORCE_DELETED = "PodsForceDeleted"
    TIMED_OUT = "TimedOut"


SKIPPED = "Skipped"
"""What stands for an outcome where the stages were skipped: in metrics only."""


class Reason(StrEnum):
    """Reasons of the Deleting condition; each is also the reason of the event of its transition."""

    ROUTE_REMOVING = "RouteRemoving"
    ROUTE_SETTLING = "RouteSettling"
    ROUTE_STUCK = "RouteStuck"
    NO_ROUTE = "NoRoute"
    UNINSTALLED = "Uninstalled"
    WAITING_FOR_PODS = "WaitingForPods"
    PODS_FORCE_DELETED = "PodsForceDeleted"
    TIMED_OUT = "TimedOut"
    RELEASED = "Released"


class Action(StrEnum):
    """What a pass does after its status write."""

    NONE = "None"
    DELETE_ROUTES = "DeleteRoutes"
    UNINSTALL = "Uninstall"
    FORCE_DELETE = "ForceDelete"
    DROP_FINALIZER = "DropFinalizer"


def worst(*outcomes: Outcome | None) -> Outcome:
    """Return the worst of the outcomes, Clean when there is none."""
    order = list(Outcome)
    return max((o for o in outcomes if o is not None), key=order.index, default=Outcome.CLEAN)


def format_time(moment: datetime) -> str:
    """Write a time as status stores it: RFC 3339 in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a teardown remembers in `status.deletion`.

    The stage, its timestamps and what cannot be seen again.
    """

    stage: Stage
    started_at: datetime
    outcome: Outcome = Outcome.CLEAN
    route_removed_at: datetime | None = None
    uninstalled_at: datetime | None = None
    pods_gone_at: datetime | None = None
    force_deleted: tuple[str, ...] = ()

    @classmethod
    def from_status(cls, status: Mapping[str, Any]) -> "Deletion | None":
        """Read `status.deletion`; None when no teardown has begun.

        Raises ValueError on a value we never write.
        """
        stored = status.get("deletion") or {}
        if not stored.get("stage") or not stored.get("startedAt"):
            return None

        def moment(name: str) -> datetime | None:
            return parse_time(stored[name]) if stored.get(name) else None

        return cls(
            stage=Stage(stored["stage"]),
            started_at=parse_time(stored["startedAt"]),
            outcome=Outcome(stored.get("outcome") or Outcome.CLEAN),
            route_removed_at=moment("routeRemovedAt"),
            uninstalled_at=moment("uninstalledAt"),
            pods_gone_at=moment("podsGoneAt"),
            force_deleted=tuple(stored.get("forceDeleted") or ()),
        )


@dataclass(frozen=True, slots=True)
class Release:
    """What is known of the helm release.

    Whether helm holds it, whether it is ours, and what to say about it.
    """

    held: Held
    ours: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Routes:
    """The release's ModelRoutes.

    How many its manifest names, which are left, which of those nobody asked to go yet, and what kept us from
    seeing that.
    """

    named: int
    left: tuple[Route, ...] = ()
    unasked: tuple[Route, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last `helm uninstall` of this process for this object: its error, empty when helm succeeded."""

    error: str = ""
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All that one decision reads. `pods` is None while the pod cache cannot be trusted."""

    now: datetime
    knobs: Knobs
    deletion: Deletion | None = None
    suspended: bool = False
    release: Release = Release(Held.HELD)
    routes: Routes = Routes(0)
    pods: tuple[Pod, ...] | None = ()
    nodes: Mapping[str, bool] = field(default_factory=dict)
    attempt: Attempt | None = None
    refused: frozenset[str] = frozenset()
    release_name: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a pass records, does and waits for. `deletion` None: nothing of a teardown is recorded."""

    action: Action = Action.NONE
    deletion: Deletion | None = None
    reason: Reason | None = None
    message: str = ""
    requeue: timedelta | None = None
    force: tuple[Pod, ...] = ()
    left: tuple[Pod, ...] | None = None
    note: str = ""
    """Reason of an event beside the stages: `DeletionSuspended`, `Orphaned`, `ForeignRelease`."""

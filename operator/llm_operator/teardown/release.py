"""Install and upgrade: what to do about the release of a living LLMService. Pure.

Drift is left alone: the release is only touched when what the spec applies differs from what the newest
revision says it applied, or when the last attempt did not end well.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from llm_operator.api import DIGEST_LABEL, OWNER_LABEL
from llm_operator.records import Revision, holds
from llm_operator.teardown.model import Phase

FIRST_WAIT = timedelta(seconds=10)
LONGEST_WAIT = timedelta(minutes=10)
FOREIGN_WAIT = timedelta(minutes=1)
CATCH_UP = timedelta(seconds=1)
_HALF_UPGRADED = frozenset({"pending-upgrade", "pending-rollback"})
_HALF_DONE = frozenset({"pending-install", "uninstalling"})


class Do(StrEnum):
    """What a pass does about a living service's release."""

    NOTHING = "Nothing"
    ADD_FINALIZER = "AddFinalizer"
    INSTALL = "Install"
    UPGRADE = "Upgrade"
    ROLLBACK = "Rollback"
    CLEAN = "Clean"


@dataclass(frozen=True, slots=True)
class Tries:
    """How attempts to apply one digest went in this process.

    Failures in a row, the last error, and when it was.
    """

    digest: str
    failures: int = 0
    error: str = ""
    ended_at: datetime | None = None
    revision: int = 0
    """The revision that the last success made: the cache may not show it yet."""


@dataclass(frozen=True, slots=True)
class Living:
    """All that the decision about a living service reads."""

    now: datetime
    uid: str
    digest: str
    held: bool = True
    suspended: bool = False
    newest: Revision | None = None
    tries: Tries | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """What to do, what to say, and when to come back."""

    do: Do
    phase: Phase | None = None
    reason: str = ""
    message: str = ""
    ready: bool = False
    requeue: timedelta | None = None


def course(facts: Living) -> Course:
    """Decide what one pass over a living LLMService does."""
    if facts.suspended:
        return Course(Do.NOTHING, Phase.SUSPENDED, "Suspended", "spec.suspend is true: nothing is done")
    if not facts.held:
        return Course(Do.ADD_FINALIZER, requeue=timedelta(0))
    if holds(facts.newest) and not ours(facts.newest, facts.uid):
        message = "a helm release of this name was not installed by this LLMService: it is left alone"
        return Course(Do.NOTHING, Phase.FAILED, "ForeignRelease", message, requeue=FOREIGN_WAIT)
    if _unseen(facts):
        return Course(Do.NOTHING, requeue=CATCH_UP)
    if _applied(facts):
        return Course(Do.NOTHING, Phase.READY, "Deployed", "the helm release is deployed", ready=True)
    return _waiting(facts) or _next(facts)


def repairs(plan: Course) -> bool:
    """Say whether a course removes or rolls back: too much to be decided on a cache that may lag."""
    return plan.do in (Do.CLEAN, Do.ROLLBACK)


def ours(revision: Revision | None, uid: str) -> bool:
    """Say whether the release carries the mark of the LLMService with this UID."""
    return revision is not None and revision.labels.get(OWNER_LABEL) == uid


def backoff(failures: int) -> timedelta:
    """Return the wait after so many failures in a row: 10 s, doubling, at most 10 min."""
    factor: int = 2 ** min(failures - 1, 10)
    return min(FIRST_WAIT * factor, LONGEST_WAIT)


def _unseen(facts: Living) -> bool:
    """Say whether our own last success is not in the cache yet (at most for a minute.

    It may have been removed).
    """
    tries = facts.tries
    if tries is None or tries.failures or not tries.revision or tries.ended_at is None:
        return False
    if facts.now - tries.ended_at >= timedelta(minutes=1):
        return False
    newest = facts.newest
    return newest is None or newest.version < tries.revision or _pending(newest, tries.revision)


def _pending(newest: Revision, revision: int) -> bool:
    return newest.version == revision and newest.status.startswith("pending-")


def _applied(facts: Living) -> bool:
    newest = facts.newest
    return (
        newest is not None and newest.status == "deployed" and newest.labels.get(DIGEST_LABEL) == facts.digest
    )


def _waiting(facts: Living) -> Course | None:
    tries = facts.tries
    if tries is None or tries.digest != facts.digest or not tries.failures or tries.ended_at is None:
        return None
    left = tries.ended_at + backoff(tries.failures) - facts.now
    if left <= timedelta(0):
        return None
    return Course(Do.NOTHING, Phase.FAILED, "HelmFailed", tries.error, requeue=left)


def _next(facts: Living) -> Course:
    if not holds(facts.newest):
        return Course(Do.INSTALL, Phase.INSTALLING, "Installing", "helm install runs", requeue=timedelta(0))
    status = facts.newest.status if facts.newest is not None else ""
    if status in _HALF_DONE:
        message = f"the release was left {status}: it is removed, then installed"
        return Course(Do.CLEAN, Phase.INSTALLING, "Cleaning", message, requeue=timedelta(0))
    if status in _HALF_UPGRADED:
        message = f"the release was left {status}: it is rolled back, then upgraded"
        return Course(Do.ROLLBACK, Phase.INSTALLING, "RollingBack", message, requeue=timedelta(0))
    return Course(Do.UPGRADE, Phase.INSTALLING, "Upgrading", "helm upgrade runs", requeue=timedelta(0))

"""The stage machine of a teardown: facts in, one decision out. Pure.

Each function below is one stage: what it waits for, and what follows. A pass decides once; the next pass
observes what came of it. Deadlines are checked on every path, also where nothing could be seen.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from llm_operator.durations import format_duration
from llm_operator.pods import Pod, remaining, terminating_for
from llm_operator.records import Held
from llm_operator.teardown import messages
from llm_operator.teardown.model import Action, Decision, Deletion, Facts, Outcome, Reason, Stage, worst

WAIT = timedelta(seconds=5)
"""Every wait is a requeue of this length, cut at the deadline.

Only the settle waits for its exact remainder.
"""
AT_ONCE = timedelta(0)
HELM_TIMEOUT = timedelta(minutes=5)
LAST_ATTEMPT = timedelta(seconds=30)
"""What helm gets for the one attempt after the deadline, where no budget remains."""


def decide(facts: Facts) -> Decision:
    """Decide what one pass over an LLMService in deletion records, does and waits for."""
    if facts.suspended:
        return Decision(note="DeletionSuspended", message=messages.SUSPENDED)
    if facts.knobs.orphan:
        return Decision(Action.DROP_FINALIZER, note="Orphaned", message=messages.orphaned(facts))
    if _foreign(facts):
        return Decision(Action.DROP_FINALIZER, note="ForeignRelease", message=facts.release.detail)
    if facts.deletion is None:
        return _start(facts)
    return _STAGES[facts.deletion.stage](facts, facts.deletion)


def deadline(facts: Facts, deletion: Deletion) -> datetime:
    """Return the moment past which the finalizer is dropped whatever is left."""
    return deletion.started_at + facts.knobs.max_wait


def helm_timeout(facts: Facts, deletion: Deletion) -> timedelta:
    """Return how long one `helm uninstall` may take: what remains of the budget, at most 5 minutes."""
    left = deadline(facts, deletion) - facts.now
    return min(left, HELM_TIMEOUT) if left > AT_ONCE else LAST_ATTEMPT


def _foreign(facts: Facts) -> bool:
    uninstalled = facts.deletion is not None and facts.deletion.uninstalled_at is not None
    return facts.release.held is Held.HELD and not facts.release.ours and not uninstalled


def _past(facts: Facts, deletion: Deletion) -> bool:
    return facts.now >= deadline(facts, deletion)


def _wait(facts: Facts, deletion: Deletion) -> timedelta:
    left = deadline(facts, deletion) - facts.now
    return min(WAIT, left) if left > AT_ONCE else WAIT


def _start(facts: Facts) -> Decision:
    """Start the clock. The first pass always asks the routes to go, however small the budget is."""
    deletion = Deletion(Stage.ROUTE_REMOVING, started_at=facts.now)
    if facts.release.held is Held.UNKNOWN or facts.routes.error:
        return _unreadable(facts, deletion)
    if not facts.routes.named:
        return _enter_uninstalling(facts, deletion, Outcome.NO_ROUTE)
    return Decision(
        Action.DELETE_ROUTES,
        deletion,
        Reason.ROUTE_REMOVING,
        messages.removing(facts.routes),
        requeue=AT_ONCE,
    )


def _unreadable(facts: Facts, deletion: Deletion) -> Decision:
    """Wait: neither 'gone' nor 'held' is known.

    Past the deadline the release is left behind, never guessed at.
    """
    if _past(facts, deletion):
        return _time_out(facts, deletion, messages.left_behind(facts))
    return Decision(
        Action.NONE,
        deletion,
        Reason.ROUTE_REMOVING,
        messages.unreadable(facts),
        requeue=_wait(facts, deletion),
    )


def _route_removing(facts: Facts, deletion: Deletion) -> Decision:
    """Wait until every ModelRoute is NotFound."""
    routes = facts.routes
    if facts.release.held is Held.UNKNOWN:
        return _unreadable(facts, deletion)
    if routes.left or routes.error:
        if _past(facts, deletion):
            return _enter_uninstalling(facts, deletion, Outcome.ROUTE_STUCK)
        return Decision(
            Action.DELETE_ROUTES if routes.unasked else Action.NONE,
            deletion,
            Reason.ROUTE_REMOVING,
            messages.removing(routes),
            requeue=AT_ONCE if routes.unasked else _wait(facts, deletion),
        )
    if facts.release.held is Held.HELD and not routes.named:
        return _enter_uninstalling(facts, deletion, Outcome.NO_ROUTE)
    settling = replace(deletion, stage=Stage.ROUTE_SETTLING, route_removed_at=facts.now)
    return _route_settling(facts, settling)


def _route_settling(facts: Facts, deletion: Deletion) -> Decision:
    """Wait out the settle, cut off by the deadline.

    So that gateways forget the route before its Services go.
    """
    removed = deletion.route_removed_at or deletion.started_at
    until = min(removed + facts.knobs.route_settle, deadline(facts, deletion))
    if facts.now >= until and deletion == facts.deletion:
        return _enter_uninstalling(facts, deletion, None)
    message = messages.settling(format_duration(facts.knobs.route_settle))
    requeue = max(until - facts.now, AT_ONCE)
    return Decision(Action.NONE, deletion, Reason.ROUTE_SETTLING, message, requeue=requeue)


def _enter_uninstalling(facts: Facts, deletion: Deletion, outcome: Outcome | None) -> Decision:
    entered = replace(deletion, stage=Stage.UNINSTALLING, outcome=worst(deletion.outcome, outcome))
    return _uninstall(facts, entered)


def _uninstall(facts: Facts, deletion: Deletion) -> Decision:
    """Run helm, unless there is nothing for it to do; what is gone is recorded by the next pass."""
    action = Action.NONE if facts.release.held is Held.GONE else Action.UNINSTALL
    return Decision(action, deletion, _why(deletion), messages.uninstalling(facts), requeue=AT_ONCE)


def _why(deletion: Deletion) -> Reason:
    reasons = {Outcome.NO_ROUTE: Reason.NO_ROUTE, Outcome.ROUTE_STUCK: Reason.ROUTE_STUCK}
    return reasons.get(deletion.outcome, Reason.ROUTE_SETTLING)


def _uninstalling(facts: Facts, deletion: Deletion) -> Decision:
    """Run helm uninstall until the release is gone; past the deadline one attempt is still made."""
    if deletion.uninstalled_at is not None:
        return _pods(facts, deletion)
    succeeded = facts.attempt is not None and not facts.attempt.error
    if facts.release.held is Held.GONE or succeeded:
        done = replace(deletion, uninstalled_at=facts.now)
        return Decision(Action.NONE, done, Reason.UNINSTALLED, messages.uninstalled(facts), requeue=AT_ONCE)
    if _past(facts, deletion) and (facts.attempt is not None or facts.release.held is Held.UNKNOWN):
        return _time_out(facts, deletion, messages.left_behind(facts))
    if facts.release.held is Held.UNKNOWN:
        message = messages.unreadable(facts)
        return Decision(Action.NONE, deletion, _why(deletion), message, requeue=_wait(facts, deletion))
    pause = _pause(facts)
    if pause > AT_ONCE:
        message = messages.uninstalling(facts)
        return Decision(
            Action.NONE, deletion, _why(deletion), message, requeue=min(pause, _wait(facts, deletion))
        )
    return _uninstall(facts, deletion)


def _pause(facts: Facts) -> timedelta:
    """Return what is left of the wait after a failed attempt."""
    if facts.attempt is None or facts.attempt.ended_at is None:
        return AT_ONCE
    return facts.attempt.ended_at + WAIT - facts.now


def _pods(facts: Facts, deletion: Deletion) -> Decision:
    """Wait until none of the release's pods counts any more."""
    if facts.pods is None:
        return _pods_unseen(facts, deletion)
    left = remaining(facts.pods, facts.nodes, facts.now)
    if not left:
        released = replace(deletion, stage=Stage.RELEASED, pods_gone_at=facts.now)
        return Decision(Action.DROP_FINALIZER, released, Reason.RELEASED, messages.released(facts), left=())
    if _past(facts, deletion):
        return _time_out(facts, deletion, messages.pods_left(facts, left), left)
    return _pods_wait(facts, deletion, left)


def _pods_unseen(facts: Facts, deletion: Deletion) -> Decision:
    if _past(facts, deletion):
        return _time_out(facts, deletion, messages.PODS_UNSEEN)
    reason = Reason.UNINSTALLED if deletion.stage is Stage.UNINSTALLING else _pod_reason(deletion.stage)
    return Decision(Action.NONE, deletion, reason, messages.PODS_UNSEEN, requeue=_wait(facts, deletion))


def _pods_wait(facts: Facts, deletion: Deletion, left: tuple[Pod, ...]) -> Decision:
    due = _overdue(facts, left)
    message = messages.waiting(left, facts.nodes, facts.now)
    if deletion.stage is Stage.UNINSTALLING:
        entered = replace(deletion, stage=Stage.PODS_TERMINATING)
        requeue = AT_ONCE if due else _wait(facts, deletion)
        return Decision(Action.NONE, entered, Reason.WAITING_FOR_PODS, message, requeue=requeue, left=left)
    refused = {pod.name for pod in left if pod.uid in facts.refused}
    forced = (*deletion.force_deleted, *(pod.name for pod in due))
    forced = tuple(sorted(set(forced) - refused))
    if due:
        outcome = worst(deletion.outcome, Outcome.PODS_FORCE_DELETED)
        deletion = replace(deletion, stage=Stage.FORCE_DELETING, outcome=outcome)
    return Decision(
        Action.FORCE_DELETE if due else Action.NONE,
        replace(deletion, force_deleted=forced),
        _pod_reason(deletion.stage),
        message,
        requeue=_wait(facts, deletion),
        force=due,
        left=left,
    )


def _pod_reason(stage: Stage) -> Reason:
    return Reason.PODS_FORCE_DELETED if stage is Stage.FORCE_DELETING else Reason.WAITING_FOR_PODS


def _overdue(facts: Facts, left: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """Return the pods to delete with grace 0.

    Only ones already deleted, not refused, and not forced before.
    """
    limit = facts.knobs.force_delete_after
    if limit is None:
        return ()
    asked = ((pod, terminating_for(pod, facts.now)) for pod in left if pod.uid not in facts.refused)
    return tuple(p for p, since in asked if since is not None and since > limit and p.deletion_grace != 0)


def _time_out(
    facts: Facts, deletion: Deletion, message: str, left: tuple[Pod, ...] | None = None
) -> Decision:
    ended = replace(deletion, stage=Stage.RELEASED, outcome=Outcome.TIMED_OUT)
    text = messages.timed_out(format_duration(facts.knobs.max_wait), message)
    return Decision(Action.DROP_FINALIZER, ended, Reason.TIMED_OUT, text, left=left)


def _released(_facts: Facts, _deletion: Deletion) -> Decision:
    """Nothing is left to record: only the finalizer is still to go."""
    return Decision(Action.DROP_FINALIZER)


_STAGES: dict[Stage, Callable[[Facts, Deletion], Decision]] = {
    Stage.ROUTE_REMOVING: _route_removing,
    Stage.ROUTE_SETTLING: _route_settling,
    Stage.UNINSTALLING: _uninstalling,
    Stage.PODS_TERMINATING: _pods,
    Stage.FORCE_DELETING: _pods,
    Stage.RELEASED: _released,
}

"""The stage machine against its table, and what must hold for every decision."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from llm_operator.teardown.model import Action, Decision, Outcome, Stage, worst
from llm_operator.teardown.stages import decide, helm_timeout
from llm_operator.teardown.status import deleting_status
from operator_harness.tables import T0, Row, facts, row_id, rows

TABLE = rows("nextStage")
MOMENTS = {"routeRemoved": "route_removed_at", "uninstalled": "uninstalled_at", "podsGone": "pods_gone_at"}


def _seen(decision: Decision) -> dict[str, Any]:
    deletion = decision.deletion
    moments = {key: getattr(deletion, name, None) for key, name in MOMENTS.items()}
    return {
        "action": decision.action,
        "stage": deletion.stage if deletion else None,
        "outcome": deletion.outcome if deletion else None,
        "reason": decision.reason,
        "note": decision.note,
        "requeue": decision.requeue.total_seconds() if decision.requeue is not None else None,
        "force": [pod.name for pod in decision.force],
        "forceDeleted": list(deletion.force_deleted) if deletion else [],
        "left": len(decision.left) if decision.left is not None else None,
        **{key: (moment - T0).total_seconds() if moment else None for key, moment in moments.items()},
    }


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_next_stage(row: Row) -> None:
    """One pass decides what the table says."""
    decision = decide(facts(row))
    want = dict(row["want"])
    assert want.pop("message", "") in decision.message
    seen = _seen(decision)
    assert {key: seen[key] for key in want} == want


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_a_stage_never_goes_back_and_an_outcome_never_gets_better(row: Row) -> None:
    """Stages only move forward, outcomes only get worse, the clock is never started anew."""
    before = facts(row).deletion
    after = decide(facts(row)).deletion
    if before is None or after is None:
        return
    order = list(Stage)
    assert order.index(after.stage) >= order.index(before.stage)
    assert worst(before.outcome, after.outcome) is after.outcome
    assert after.started_at == before.started_at


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_deciding_twice_writes_nothing_new(row: Row) -> None:
    """The status of a decision, once stored, is not changed by the same decision."""
    given = facts(row)
    decision = decide(given)
    status = deleting_status({}, 1, decision, given)
    assert deleting_status(status, 1, decision, given) == {}


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_every_decision_ends_or_comes_back(row: Row) -> None:
    """A pass asks to come back unless it lets go of the object or is suspended.

    And never later than the deadline.
    """
    given = facts(row)
    decision = decide(given)
    if given.suspended or decision.action is Action.DROP_FINALIZER:
        assert decision.requeue is None
        return
    assert decision.requeue is not None
    started = decision.deletion.started_at if decision.deletion else given.now
    left = started + given.knobs.max_wait - given.now
    assert decision.requeue <= max(left, timedelta(seconds=5))


def test_outcomes_are_ordered_as_specified() -> None:
    """TimedOut > PodsForceDeleted > RouteStuck > NoRoute > Clean."""
    assert [str(o) for o in reversed(Outcome)] == [
        "TimedOut",
        "PodsForceDeleted",
        "RouteStuck",
        "NoRoute",
        "Clean",
    ]
    assert worst() is Outcome.CLEAN
    assert worst(Outcome.NO_ROUTE, None, Outcome.ROUTE_STUCK) is Outcome.ROUTE_STUCK


@pytest.mark.parametrize(("now", "seconds"), [(0, 300), (3299, 300), (3500, 100), (3600, 30), (9999, 30)])
def test_helm_gets_what_is_left(now: int, seconds: int) -> None:
    """Helm's timeout is what remains of the budget, at most five minutes.

    Half a minute once it is used up.
    """
    given = facts({"given": {"stage": "Uninstalling", "now": now}})
    assert given.deletion is not None
    assert helm_timeout(given, given.deletion) == timedelta(seconds=seconds)


def test_a_pass_does_not_see_its_own_message() -> None:
    """Deciding again after the status was stored gives the same decision while nothing else changed."""
    given = facts({"given": {"stage": "PodsTerminating", "uninstalled": 1, "now": 10, "pods": [{}]}})
    decision = decide(given)
    assert decide(replace(given, deletion=decision.deletion)) == decision

"""Whatever is observed, in whatever order: a teardown goes forward only, and ends within its budget."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from llm_operator.records import Held
from llm_operator.routes import Route
from llm_operator.teardown.knobs import Knobs
from llm_operator.teardown.model import (
    Action,
    Attempt,
    Decision,
    Facts,
    Outcome,
    Release,
    Routes,
    Stage,
)
from llm_operator.teardown.stages import decide
from operator_harness.tables import T0, pod

ROUTE = Route("tide", "sable", "routing.modelsphere.dev", "v1")
POD = pod({"deleted": 10**6, "grace": 600})
MAX_WAIT = timedelta(minutes=10)
PASSES = 500
ORDER = list(Stage)

routes = st.sampled_from(
    [
        Routes(0),
        Routes(1),
        Routes(1, (ROUTE,), (ROUTE,)),
        Routes(1, (ROUTE,)),
        Routes(1, error="out of reach"),
    ]
)
looks = st.fixed_dictionaries(
    {
        "release": st.sampled_from([Release(held) for held in Held]),
        "routes": routes,
        "pods": st.sampled_from([None, (), (POD,)]),
        "attempt": st.sampled_from(["", "boom"]),
        "late": st.integers(0, 8),
    }
)
knobs = st.builds(
    Knobs,
    max_wait=st.sampled_from([timedelta(0), MAX_WAIT]),
    route_settle=st.sampled_from([timedelta(0), timedelta(seconds=60), timedelta(hours=9)]),
    force_delete_after=st.sampled_from([None, timedelta(0)]),
)


def _look(facts: Facts, look: dict[str, object], decision: Decision) -> Facts:
    """See the world again when the pass is due, some seconds late."""
    waited = (decision.requeue or timedelta(0)) + timedelta(seconds=float(str(look["late"])))
    seen = {key: look[key] for key in ("release", "routes", "pods")}
    if decision.action is Action.UNINSTALL:
        seen["attempt"] = Attempt(str(look["attempt"]), facts.now)
    seen["now"], seen["deletion"] = facts.now + waited, decision.deletion
    return replace(facts, **seen)  # type: ignore[arg-type] # the keys are Facts' own


@settings(max_examples=100, deadline=None)
@given(knobs, st.lists(looks, min_size=1, max_size=12))
def test_every_teardown_ends(knobs: Knobs, world: list[dict[str, object]]) -> None:
    """However the world goes round, the finalizer is dropped, soon after the deadline at the latest."""
    facts = Facts(now=T0, knobs=knobs, release_name="sable")
    stages: list[int] = []
    for number in range(PASSES):
        decision = decide(facts)
        if decision.deletion is not None:
            stages.append(ORDER.index(decision.deletion.stage))
        if decision.action is Action.DROP_FINALIZER:
            break
        assert decision.requeue is not None
        facts = _look(facts, world[number % len(world)], decision)
    assert decision.action is Action.DROP_FINALIZER
    assert stages == sorted(stages)
    assert facts.now <= T0 + knobs.max_wait + timedelta(seconds=15 * 10)


@settings(max_examples=100, deadline=None)
@given(knobs, st.lists(looks, min_size=1, max_size=12))
def test_nothing_is_lost_on_the_way(knobs: Knobs, world: list[dict[str, object]]) -> None:
    """Whatever is not TimedOut was uninstalled and left no pod; no route is passed over in silence."""
    facts = Facts(now=T0, knobs=knobs, release_name="sable")
    asked = False
    for number in range(PASSES):
        decision = decide(facts)
        asked = asked or decision.action is Action.DELETE_ROUTES
        if decision.action is Action.UNINSTALL and facts.routes.left and facts.deletion is None:
            raise AssertionError("uninstalled before its routes were asked to go")
        if decision.action is Action.DROP_FINALIZER:
            break
        facts = _look(facts, world[number % len(world)], decision)
    end = decision.deletion
    assert end is not None
    if end.outcome is not Outcome.TIMED_OUT:
        assert end.uninstalled_at is not None
        assert end.pods_gone_at is not None
        assert facts.pods == ()
    assert (end.outcome is Outcome.NO_ROUTE) <= (end.route_removed_at is None)

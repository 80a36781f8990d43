"""The autoscaler's pure functions, each against its table in `tables/`."""

import re
from datetime import datetime, timedelta

import pytest

from operator_harness.tables import T0, Row, row_id
from release_api.autoscale import store
from release_api.autoscale.decide import decide
from release_api.autoscale.model import Facts, Memory, Reading, Verdict
from release_api.autoscale.policy import FILE, PolicyError, Role, parse
from release_api.autoscale.prometheus import LARGEST, read
from release_api.autoscale.store import Stored
from release_api.autoscale.values import ValuesError, change, replicas
from releases_harness.tables import rows

ROLE = {"min": 1, "max": 8, "query": "sum(load)", "target": 10.0}


def at(seconds: float) -> datetime:
    """Return a moment by its seconds after T0."""
    return T0 + timedelta(seconds=seconds)


def memory(row: Row) -> Memory | None:
    """Build the memory of a row: `since` of a role that was scaled then, `seen` of one that was not."""
    if "since" in row:
        return Memory(at(row["since"]), scaled=True)
    return Memory(at(row["seen"])) if "seen" in row else None


@pytest.mark.parametrize("row", rows("autoscale-decide"), ids=row_id)
def test_decide(row: Row) -> None:
    """The replicas that a role gets, and those it does not."""
    role = Role.model_validate({**ROLE, **row.get("role", {})})
    reading = Reading(tuple(float(sample) for sample in row.get("load", ())), row.get("error", ""))
    made = decide(role, Facts(at(row["now"]), row["current"], reading, memory(row)))
    assert made.verdict == row["verdict"], made
    assert made.replicas == row.get("replicas")
    assert (made.verdict in (Verdict.SCALE, Verdict.BOUND)) is (made.replicas is not None)
    assert made.memory == memory(row.get("after", {}))
    assert row.get("says", "") in made.message
    assert made.message


@pytest.mark.parametrize("row", rows("autoscale-policy"), ids=row_id)
def test_policy(row: Row) -> None:
    """A policy is read whole, or refused in one line that says where and what is wrong."""
    data = {} if row["policy"] is None else {FILE: row["policy"]}
    if "error" in row:
        with pytest.raises(PolicyError) as caught:
            parse(data)
        assert row["error"] in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    policy = parse(data)
    assert {name: policy.path(name) for name in policy.roles} == row["paths"]


def test_policy_defaults() -> None:
    """What a policy leaves out is what the documentation says."""
    role = parse({FILE: "roles: {server: {min: 0, max: 4, query: x, target: 2}}"}).roles["server"]
    assert role.tolerance == 0.1
    assert (role.cooldown.up, role.cooldown.down) == (timedelta(seconds=30), timedelta(minutes=5))


@pytest.mark.parametrize("text", ["[" * 5000, "&a [*a]", "a: " + "x" * 2**20], ids=["deep", "cycle", "long"])
def test_hostile_policy(text: str) -> None:
    """Whatever stands in a ConfigMap, the answer is one line of bounded length."""
    with pytest.raises(PolicyError) as caught:
        parse({FILE: text})
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("row", rows("autoscale-answers"), ids=row_id)
def test_answers(row: Row) -> None:
    """What Prometheus answers is either understood whole or an error."""
    reading = read(row.get("status", 200), row["body"].encode())
    assert row.get("error", "") in reading.error
    assert bool(reading.error) is ("error" in row)
    assert list(reading.samples) == [float(sample) for sample in row.get("samples", [])]


def test_an_answer_without_end() -> None:
    """An answer larger than one number can be is not parsed."""
    assert "more than" in read(200, b"x" * (LARGEST + 1)).error


@pytest.mark.parametrize("row", rows("autoscale-values"), ids=row_id)
def test_values(row: Row) -> None:
    """Replicas are read where the policy says, and anything else that stands there is an error."""
    if "error" in row:
        with pytest.raises(ValuesError, match=re.escape(row["error"])):
            replicas(row["values"], row["path"])
        return
    assert replicas(row["values"], row["path"]) == row["replicas"]


def test_change() -> None:
    """The values that set replicas hold these numbers and nothing else."""
    wanted = {"prefill.replicas": 2, "prefill.spare.replicas": 0, "decode.replicas": 5}
    made = change(wanted)
    assert made == {"prefill": {"replicas": 2, "spare": {"replicas": 0}}, "decode": {"replicas": 5}}
    assert {path: replicas(made, path) for path in wanted} == wanted


@pytest.mark.parametrize(
    "text",
    ["", "[]", "roles: 3", "roles: {server: 3}", "{", "roles: {server: {since: soon}}", "[" * 5000],
    ids=["empty", "list", "number", "role", "broken", "time", "deep"],
)
def test_a_memory_that_cannot_be_read_is_none(text: str) -> None:
    """Whatever somebody wrote over our memory, the role is looked at as for the first time."""
    assert store.memories(Stored(("tide", "brook"), {store.STATUS: text}, "1")) == {}

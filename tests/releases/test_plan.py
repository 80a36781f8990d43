"""Plans as ConfigMaps: what is written is read, what others write is not trusted."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from operator_harness.tables import T0
from release_api import masks, names
from release_api.models import Backend, Change, ChartSource, Phase
from release_api.plan import Plan, PlanError, Status, User, from_api, to_api
from release_api.rates import Rates
from release_api.seal import Seal

SEAL = Seal(b"k" * 32)
CHART = ChartSource(name="textgen", version="0.1.0", oci="oci://registry.example/charts", plainHTTP=True)
STATUS = Status(Phase.UNINSTALLING, T0, User("ada", ("x", "y")), "so: it\ngoes", "uid-1")
PLAN = Plan(("tide", "sable"), Backend.LLMSVC, CHART, User("ada", ("x",)), STATUS, "7", "uid-7", trusted=True)


def _stored(plan: Plan = PLAN) -> dict[str, Any]:
    return copy.deepcopy(to_api(plan, SEAL))


def test_round_trip() -> None:
    """A plan that was written is read as it was, and trusted."""
    read = from_api(_stored(), SEAL)
    assert read == PLAN
    assert read.trusted


def test_labels() -> None:
    """Phase and release stand in labels, for selectors."""
    obj = _stored()
    assert obj["metadata"]["name"] == "swiss-plan-sable"
    assert obj["metadata"]["labels"] == {
        "swiss.modelsphere.dev/phase": "uninstalling",
        "swiss.modelsphere.dev/release": "sable",
    }


@pytest.mark.parametrize("change", ["user", "chart", "status", "uid", "seal", "key"])
def test_seal(change: str) -> None:
    """A plan in which anybody changed anything is read, but not trusted."""
    obj, seal = _stored(), SEAL
    match change:
        case "user":
            obj["data"]["plan.yaml"] = obj["data"]["plan.yaml"].replace("ada", "admin")
        case "chart":
            obj["data"]["plan.yaml"] = obj["data"]["plan.yaml"].replace("registry.example", "evil.example")
        case "status":
            obj["data"]["status.yaml"] = obj["data"]["status.yaml"].replace("ada", "admin")
        case "uid":
            obj["metadata"]["uid"] = "another"
        case "seal":
            del obj["data"]["seal"]
        case "key":
            seal = Seal(b"q" * 32)
    assert not from_api(obj, seal).trusted


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"plan.yaml": "{", "status.yaml": ""},
        {"plan.yaml": "[]", "status.yaml": "[]"},
        {"plan.yaml": "release: sable", "status.yaml": "phase: applied"},
    ],
    ids=["empty", "no YAML", "lists", "too little"],
)
def test_unreadable(data: dict[str, str]) -> None:
    """What is no plan is a PlanError, whatever it is."""
    meta = {"name": "swiss-plan-sable", "namespace": "tide", "uid": "u", "resourceVersion": "1"}
    with pytest.raises(PlanError):
        from_api({"metadata": meta, "data": data}, SEAL)


def test_a_plan_lies_under_its_own_name() -> None:
    """A ConfigMap cannot pose as the plan of another release."""
    obj = _stored()
    obj["metadata"]["name"] = "swiss-plan-other"
    with pytest.raises(PlanError):
        from_api(obj, SEAL)


def test_what_is_not_ours_is_not_sealed() -> None:
    """A plan is created without a seal, as it has no UID yet; one that others changed loses it."""
    assert "seal" not in _stored(replace(PLAN, uid="", version=""))["data"]
    assert _stored(replace(PLAN, trusted=False))["data"]["seal"] is None


@given(st.text("abcdefghij-.", min_size=1, max_size=300))
def test_names_fit(name: str) -> None:
    """Names of what we keep stay within what Kubernetes takes, whatever the release is called."""
    key = ("tide", name)
    for ref in (names.plan_ref(key), names.autoscale_ref(key), names.lock_ref(key)):
        assert len(ref.name) <= names.LONGEST_NAME
    assert len(names.release_label(name)) <= names.LONGEST_LABEL
    assert len(names.archive_name(name, 2**31)) <= names.LONGEST_NAME


def test_long_names_differ() -> None:
    """Two long names that begin alike are not cut to the same."""
    one, two = ("x" * 300 + end for end in "ab")
    assert names.fitted(one, 253) != names.fitted(two, 253)


@pytest.mark.parametrize(
    "values", [{"n": 2**70}, {"s": "\ud800"}], ids=["too large a number", "half a character"]
)
def test_values_can_be_stored(values: dict[str, Any]) -> None:
    """What JSON can say and nobody can store is refused at the door."""
    with pytest.raises(ValidationError):
        Change(chart=CHART, values=values)


def test_masks() -> None:
    """Every text of four characters and more is taken out, keys and numbers not; also line by line."""
    values = {"password": "hunter22", "list": ["abcd", "x"], "n": 12345, "key": "first line\nsecond\n"}
    assert set(masks.texts(values)) == {
        "hunter22",
        "abcd",
        "first line\nsecond\n",
        "first line\nsecond",
        "first line",
        "second",
    }


def test_rates() -> None:
    """So many at once, then so many a second, each user for himself."""
    now = [0.0]
    rates = Rates(2.0, 3, lambda: now[0])
    assert [rates.wait("ada") for _ in range(3)] == [0, 0, 0]
    assert rates.wait("ada") == pytest.approx(0.5)
    assert rates.wait("bob") == 0
    now[0] = 0.5
    assert rates.wait("ada") == 0
    assert rates.wait("ada") > 0

"""Which components a ServingStack has, and where their charts come from."""

from __future__ import annotations

from typing import Any

import pytest

from support.calls import Manifest, call, cluster, observe, stack
from support.settling import HELD, settle, teardown

OPERATOR = "llm-operator"
CHART = {"repository": "oci://registry.example.org/team/charts", "version": "0.1.0"}


def settings(**fields: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return Settings that name the controller's chart, with more fields."""
    return {"kind": "Settings", "operatorChart": CHART, **fields}


def releases(composite: Manifest, given: Manifest | None) -> dict[str, Manifest]:
    """Return what each Release of a whole ServingStack asks provider-helm for, by its key."""
    things = settle(composite, given)
    return {key: m["spec"]["forProvider"] for key, m in things.items() if m["kind"] == "Release"}


@pytest.mark.parametrize(
    "given",
    [
        None,
        {"kind": "Settings"},
        {"kind": "Settings", "chartRegistry": "oci://r"},
        settings(operatorChart=None),
    ],
    ids=["no Settings", "empty", "a mirror", "null"],
)
def test_without_its_chart_there_is_no_controller(given: Manifest | None) -> None:
    """A checkout and Modelplane's own Composition name no chart: the row is left out, with all its Usages."""
    things = settle(stack(annotations=HELD), given)
    assert [key for key in things if OPERATOR in key] == []
    assert len([m for m in things.values() if m["kind"] in ("Release", "Object")]) == 13


def test_with_its_chart_every_stack_brings_the_controller() -> None:
    """The chart that Settings name is installed where the controller's Lease lies, as one leaf more."""
    things = settle(stack(annotations=HELD), settings())
    chart = {**CHART, "name": OPERATOR}
    assert things[OPERATOR]["spec"]["forProvider"] == {"chart": chart, "namespace": "llm-operator-system"}
    assert {f"usage-pc-{OPERATOR}", f"usage-cluster-by-{OPERATOR}"} <= set(things)
    assert len([m for m in things.values() if m["kind"] in ("Release", "Object")]) == 14


def test_a_private_chart_is_pulled_with_a_secret() -> None:
    """Its own in Settings, and any other's in the table."""
    private = settings(operatorChart={**CHART, "pullSecret": "pull"})
    for key, asked in releases(stack(), private).items():
        assert asked["chart"].get("pullSecretRef") == ({"name": "pull"} if key == OPERATOR else None)
    row = {**TABLE[0], "chart": {**TABLE[0]["chart"], "pullSecret": "mine"}, "outlives": []}
    found = releases(stack(), {"kind": "Settings", "components": [row]})
    assert found["base"]["chart"]["pullSecretRef"] == {"name": "mine"}


def test_nothing_of_the_others_changes() -> None:
    """The row adds; what there was without it stays as it is."""
    without, having = settle(stack(annotations=HELD)), settle(stack(annotations=HELD), settings())
    assert {key: m for key, m in having.items() if OPERATOR not in key} == without


def test_each_stack_has_a_controller_of_its_own() -> None:
    """Two stacks on one cluster must not fight over one Helm release, whatever they are called."""
    names = {
        settle(stack(name=name, namespace=namespace), settings())[OPERATOR]["metadata"]["annotations"][
            "crossplane.io/external-name"
        ]
        for name in ("a", "b", "c" * 63)
        for namespace in ("modelplane-system", "other")
    }
    assert len(names) == 6
    assert all(name.startswith("mp-llm-operator-") and len(name) == 24 for name in names)


@pytest.mark.parametrize("own", [False, True], ids=["TLS", "plain"])
@pytest.mark.parametrize("mirror", [None, False, True], ids=["no mirror", "TLS mirror", "plain mirror"])
def test_a_mirror_has_all_charts_but_the_controllers(own: bool, mirror: bool | None) -> None:  # noqa: FBT001 -- parameters of a test
    """`make push` puts it into the registry of the packages, and each registry has its own `plainHTTP`."""
    at = {} if mirror is None else {"chartRegistry": "oci://mirror.example.org/", "plainHTTP": mirror}
    found = releases(stack(), settings(operatorChart={**CHART, "plainHTTP": own}, **at))
    for key, asked in found.items():
        repository, plain = asked["chart"]["repository"], asked.get("plainHTTP", False)
        if key == OPERATOR:
            assert (repository, plain) == (CHART["repository"], own)
        else:
            assert (repository == "oci://mirror.example.org") == (mirror is not None), key
            assert plain == bool(mirror), key


def test_it_comes_with_the_components_and_goes_first() -> None:
    """Its services are gone before the stack goes, and what is left of the stack does not need it."""
    first = call(stack(annotations=HELD), settings=settings())
    second = call(stack(annotations=HELD), observe(first), settings=settings())
    third = call(stack(annotations=HELD), observe(second), settings=settings())
    assert OPERATOR in third.desired
    assert "gateway" not in third.desired
    rounds = teardown(settle(stack(annotations=HELD), settings()))
    assert OPERATOR in rounds[0]


@pytest.mark.parametrize("ready", [False, True])
def test_services_wait_until_the_whole_stack_is_ready(ready: bool) -> None:  # noqa: FBT001 -- a parameter of a test
    """A stack that still installs the controller is not ready, and no service is created before it is."""
    chart = {"repository": "https://charts.example.org", "name": "textgen", "version": "1"}
    composite = cluster(services=[{"namespace": "models", "name": "chat", "chart": chart}])
    things: dict[str, Manifest] = {}
    for _ in range(6):
        things = observe(call(composite, things))
        if not ready:
            things["serving-stack"]["status"] = {}
    assert ("service-models.chat" in things) == ready


def test_taken_back_it_is_uninstalled_and_holds_on_until_then() -> None:
    """Without the chart in Settings the Release leaves, its Usages not before it is really gone."""
    things = settle(stack(annotations=HELD), settings())
    made = call(stack(annotations=HELD), things)
    assert made.fatal == []
    assert OPERATOR not in made.desired
    assert {f"usage-pc-{OPERATOR}", f"usage-cluster-by-{OPERATOR}"} <= set(made.desired)


TABLE: list[Manifest] = [
    {
        "name": "base",
        "kind": "Release",
        "chart": {"repository": "oci://r", "name": "base", "version": "1"},
        "namespace": "base",
        "outlives": ["extra"],
    },
    {"name": "extra", "kind": "Object", "needs": "spec.gateway.className", "manifest": {"kind": "X"}},
]


@pytest.mark.parametrize(
    ("gateway", "keys"),
    [
        pytest.param({"className": "envoy"}, {"base", "extra"}, id="given"),
        pytest.param({"className": None}, {"base"}, id="null"),
        pytest.param({}, {"base"}, id="not given"),
    ],
)
def test_a_row_may_need_any_field(gateway: object, keys: set[str]) -> None:
    """A component is left out where what it needs is not given; who outlives it need not know."""
    bare = stack()
    bare["spec"] = {"identity": "InjectedIdentity", "gateway": gateway}
    made = settle(bare, {"kind": "Settings", "components": TABLE})
    assert {key for key, m in made.items() if m["kind"] in ("Release", "Object")} == keys


def entry(**fields: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return Settings with one component, with fields replaced."""
    return {"kind": "Settings", "components": [{**TABLE[0], "outlives": [], **fields}]}


@pytest.mark.parametrize("composite", [stack(), cluster()], ids=lambda composite: composite["kind"])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param("oci://r", "input.operatorChart must be a block, not 'oci://r'", id="text"),
        pytest.param(["oci://r"], "input.operatorChart must be a block", id="a list"),
        pytest.param({}, "operatorChart.repository is required", id="empty"),
        pytest.param({**CHART, "repository": None}, "operatorChart.repository is required", id="null"),
        pytest.param(
            {**CHART, "repository": "registry.example.org/charts"},
            "repository must begin with oci:// or https:// or http://, not 'registry.example.org/charts'",
            id="no scheme",
        ),
        pytest.param({**CHART, "version": ""}, "operatorChart.version must not be empty", id="no version"),
        pytest.param({**CHART, "version": 0.1}, "operatorChart.version must be text, not 0.1", id="a number"),
        pytest.param(
            {**CHART, "plainHTTP": "yes"}, "plainHTTP must be true or false, not 'yes'", id="a word for true"
        ),
        pytest.param({**CHART, "pullSecret": ""}, "pullSecret must not be empty", id="an unnamed Secret"),
    ],
)
def test_a_bad_place_of_the_chart(composite: Manifest, given: object, says: str) -> None:
    """One fatal result that names the field; what is there stays as it is."""
    made = call(composite, settle(composite), settings=settings(operatorChart=given))
    (fatal,) = made.fatal
    assert says in fatal
    assert fatal.endswith("Nothing was changed.")
    assert made.desired == {}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"needs": 7}, "components[0].needs must be text, not 7", id="needs a number"),
        pytest.param({"needs": ""}, "components[0].needs must not be empty", id="needs nothing"),
        pytest.param({"needs": "spec.nothing", "name": ""}, "name must not be empty", id="left out, no name"),
        pytest.param(
            {"chart": {**TABLE[0]["chart"], "pullSecret": 7}}, "pullSecret must be text", id="Secret"
        ),
        pytest.param({"needs": "spec.nothing", "kind": "Chart"}, None, id="what is left out is not read"),
    ],
)
def test_a_bad_row(fields: Manifest, says: str | None) -> None:
    """The same for the table."""
    made = call(stack(), settle(stack()), settings=entry(**fields))
    assert [says in fatal for fatal in made.fatal if says] == ([True] if says else [])
    assert bool(made.desired) == (says is None)

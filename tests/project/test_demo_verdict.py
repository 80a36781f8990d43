"""The demo's verdict: which fault of the order breaks which claims, as tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from examples.demo import demo, verdict
from examples.demo.modes import MODES
from support.forged import IN_ORDER, Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

CASCADE, STAGED = (verdict.Installed(demo.TABLE, demo.SERVICES, MODES[mode].stages) for mode in MODES)
STAGES_IN_ORDER = (
    "stage DrainingServices",
    *IN_ORDER[:4],
    "stage RemovingServingStack",
    *IN_ORDER[4:12],
    "stage RemovingCluster",
    IN_ORDER[12],
    "stage Released",
    IN_ORDER[13],
)


def swapped(earlier: str, later: str, order: Sequence[str] = IN_ORDER) -> list[str]:
    """Return all of an order, with `later` just before `earlier`."""
    names = [name for name in order if name != later]
    names.insert(names.index(earlier), later)
    return names


ORDERS: dict[str, tuple[Sequence[str], list[str]]] = {
    "kept": (IN_ORDER, []),
    "controller before its gateway": (
        swapped("Object gateway", "Release envoy-gateway"),
        ["gateway before envoy-gateway", "gateway-class before envoy-gateway"],
    ),
    "ProviderConfig before a leaf": (
        swapped("Release envoy-gateway", "ProviderConfig helm"),
        ["envoy-gateway before ProviderConfig helm"],
    ),
    "stack before a ProviderConfig": (
        swapped("ProviderConfig helm", "ServingStack serving-stack"),
        ["leaves and ProviderConfigs before the ServingStack"],
    ),
    "cluster before its stack": (
        swapped("ServingStack serving-stack", "InferenceCluster demo"),
        ["the ServingStack before the InferenceCluster"],
    ),
    "service let go of too early": (
        swapped("LLMService chat", "Object service-models.chat"),
        ["LLMService chat before the Object that carries it"],
    ),
    "component before a service": (
        swapped("LLMService chat", "Release cert-manager"),
        ["all services before every component"],
    ),
    "stack before a service": (
        swapped("Object service-models.embed", "ServingStack serving-stack"),
        ["all services before the ServingStack", "leaves and ProviderConfigs before the ServingStack"],
    ),
    "leaf came back and went late": (
        [*IN_ORDER, "Object gateway"],
        [
            "gateway before envoy-gateway",
            "gateway before gateway-class",
            "gateway before ProviderConfig kubernetes",
            "leaves and ProviderConfigs before the ServingStack",
        ],
    ),
    "service never went": (
        [name for name in IN_ORDER if name != "LLMService embed"],
        [
            "LLMService embed before the Object that carries it",
            "all services before every component",
            "all services before the ServingStack",
        ],
    ),
    "leaf never went": (
        [name for name in IN_ORDER if name != "Release cert-manager"],
        [
            "all services before every component",
            "cert-manager before ProviderConfig helm",
            "leaves and ProviderConfigs before the ServingStack",
        ],
    ),
}

STAGED_ORDERS: dict[str, tuple[Sequence[str], list[str]]] = {
    "kept": (STAGES_IN_ORDER, []),
    "stage before the services are gone": (
        swapped("LLMService chat", "stage RemovingServingStack", STAGES_IN_ORDER),
        ["all services before stage RemovingServingStack"],
    ),
    "stage before a leaf is gone": (
        swapped("Release envoy-gateway", "stage RemovingCluster", STAGES_IN_ORDER),
        ["ServingStack and leaves before stage RemovingCluster"],
    ),
    "cluster's configuration before the stack": (
        swapped("ServingStack serving-stack", "ClusterProviderConfig kubernetes", STAGES_IN_ORDER),
        ["the ServingStack before its ClusterProviderConfig"],
    ),
    "let go of before the configuration is gone": (
        swapped("ClusterProviderConfig kubernetes", "stage Released", STAGES_IN_ORDER),
        ["its ClusterProviderConfig before stage Released"],
    ),
    "stage came back": (
        [*STAGES_IN_ORDER, "stage DrainingServices"],
        ["the stages, each once, in order"],
    ),
    "stage passed over": (
        [name for name in STAGES_IN_ORDER if name != "stage RemovingCluster"],
        [
            "ServingStack and leaves before stage RemovingCluster",
            "the stages, each once, in order",
        ],
    ),
}


def failed(installed: verdict.Installed, names: Sequence[str]) -> list[str]:
    """Return the claims that do not hold where things went in this order."""
    rows = verdict.judge(installed, Recording().gone(*names).events, [])
    broken = [row.claim for row in rows if not row.holds]
    assert verdict.kept(rows) is not bool(broken)
    return broken


@pytest.mark.parametrize("case", ORDERS)
def test_cascade(case: str) -> None:
    """Each fault of the order fails the claims it breaks, and these alone."""
    names, broken = ORDERS[case]
    assert failed(CASCADE, names) == broken


@pytest.mark.parametrize("case", STAGED_ORDERS)
def test_staged(case: str) -> None:
    """The same where the teardown is staged."""
    names, broken = STAGED_ORDERS[case]
    assert failed(STAGED, names) == broken


def test_what_is_left_is_named() -> None:
    """An order that was kept is not enough while something is left."""
    rows = verdict.judge(CASCADE, Recording().gone(*IN_ORDER).events, ["Release x"])
    assert [(row.claim, row.detail) for row in rows if not row.holds] == [
        ("nothing of it is left", "Release x")
    ]


def test_events_of_nothing_prove_nothing() -> None:
    """Without a single event no claim but the last holds."""
    rows = verdict.judge(STAGED, [], [])
    assert [row.holds for row in rows] == [False] * (len(rows) - 1) + [True]


def test_lost_order_ends_the_demo_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program exits 1, and says which claim does not hold, on a forged timeline."""
    forged = Recording().gone(*swapped("LLMService embed", "ServingStack serving-stack")).events
    monkeypatch.setattr(demo, "play", lambda shown, *_, **__: demo.conclude(shown, CASCADE, forged, [], 0))
    assert demo.main([]) == 1
    claim = r"FAIL  all services before the ServingStack +5.0s #5 NOT before 1.0s #1\n"
    assert re.search(claim, capsys.readouterr().out)

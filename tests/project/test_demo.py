"""The demo: what it tells and how that looks, as tables."""

from __future__ import annotations

import io
import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from examples.demo import objects, screen, story, verdict
from examples.demo.objects import Thing, What
from examples.demo.screen import Screen, Style
from examples.demo.story import Moment
from support.forged import GROUPS, Recording, carrier, gate, manifest, usage

if TYPE_CHECKING:
    from controlplane.timeline import Event

PLAIN = Style()


def told(events: list[Event]) -> list[tuple[str, str, str]]:
    """Return the moments of some events as `KIND SHORT-NAME`, what, why."""
    return [(f"{m.thing.kind} {m.label}", m.what.value, m.why) for m in story.narrate(events)]


def test_held_object_is_told_from_refusal_to_end() -> None:
    """Refused, free with its last Usage, asked again, gone; each with who held it, as the Usages say."""
    it = Recording()
    refused = {"annotations": {objects.KEY: "envoy-gateway", objects.REFUSED: "Foreground"}}
    it.add("ADDED", usage("Release envoy-gateway", "Object gateway"))
    it.add("ADDED", usage("Release envoy-gateway", "Object gateway-class"))
    it.add("ADDED", usage("ProviderConfig helm", "Release envoy-gateway"))
    for named in ("Object gateway", "Object gateway-class", "Release envoy-gateway", "ProviderConfig helm"):
        it.add("ADDED", manifest(named))
    it.add("MODIFIED", manifest("Release envoy-gateway"), **refused)
    it.add("DELETED", usage("Release envoy-gateway", "Object gateway-class"))
    it.add("DELETED", usage("Release envoy-gateway", "Object gateway"))
    it.add("MODIFIED", manifest("Release envoy-gateway"), **refused, deletionTimestamp="now")
    it.add("MODIFIED", manifest("Release envoy-gateway"), **refused, deletionTimestamp="now")
    it.gone("Release envoy-gateway", "ProviderConfig helm")
    assert told(it.events)[4:] == [
        ("Release envoy-gateway", "waits for", "gateway, gateway-class"),
        ("Release envoy-gateway", "free to go", "gateway was the last to hold it"),
        ("Release envoy-gateway", "deleting", "nothing holds it any more"),
        ("Release envoy-gateway", "gone", "after gateway, gateway-class; held ProviderConfig helm"),
        ("ProviderConfig helm", "gone", "after envoy-gateway"),
    ]


def test_composite_stays_for_what_it_composed() -> None:
    """What a composite waits for is read off the controller ownerReferences of what exists."""
    it = Recording()
    owner = {"kind": "InferenceCluster", "name": "demo", "controller": True}
    it.add("ADDED", manifest("InferenceCluster demo"))
    it.add("ADDED", manifest("ServingStack serving-stack"), ownerReferences=[owner])
    it.add("MODIFIED", manifest("InferenceCluster demo"), deletionTimestamp="now")
    it.gone("ServingStack serving-stack", "InferenceCluster demo")
    assert told(it.events)[2:] == [
        (
            "InferenceCluster demo",
            "deleting",
            "stays until all that it composed is gone, 1 left",
        ),
        ("ServingStack serving-stack", "gone", "nothing held it"),
        ("InferenceCluster demo", "gone", "after all that it composed"),
    ]


def test_service_is_told_stage_by_stage() -> None:
    """Each stage once with what it says first; its Object stays for it, the stack for the Object."""
    it = Recording()
    service = manifest("LLMService chat")
    stages = (("RouteRemoving", "waiting"), ("PodsTerminating", "2 pods"), ("PodsTerminating", "1 pod"))
    it.add("ADDED", usage("ServingStack serving-stack", "Object service-models.chat"))
    for each in (carrier("chat"), service, manifest("ServingStack serving-stack")):
        it.add("ADDED", each)
    it.add("MODIFIED", carrier("chat"), deletionTimestamp="now")
    it.add("MODIFIED", service, deletionTimestamp="now", finalizers=[objects.TEARDOWN])
    for stage, message in stages:
        status = {"deletion": {"stage": stage, "message": message, "outcome": "Clean"}}
        it.add("MODIFIED", {**service, "status": status}, deletionTimestamp="now")
    it.add("DELETED", {**service, "status": {"deletion": {"stage": "Released", "outcome": "Clean"}}})
    it.add("DELETED", carrier("chat"))
    it.gone("ServingStack serving-stack")
    assert told(it.events)[3:] == [
        ("Object service-models.chat", "deleting", "stays until LLMService chat is gone"),
        ("LLMService chat", "deleting", "stays until its controller has taken it down"),
        ("LLMService chat", "stage", "RouteRemoving: waiting"),
        ("LLMService chat", "stage", "PodsTerminating: 2 pods"),
        ("LLMService chat", "gone", "after its last stage, with outcome Clean"),
        ("Object service-models.chat", "gone", "after chat; held serving-stack"),
        ("ServingStack serving-stack", "gone", "after service-models.chat"),
    ]


def test_staged_teardown_is_told_with_what_each_stage_waits_for() -> None:
    """Refused for the gate's reason, then each stage, and by short names what it first waits for."""
    it = Recording()
    refused = {"annotations": {objects.REFUSED: "Foreground"}}
    name = manifest("Release envoy-gateway")["metadata"]["name"]
    waiting = ["LLMService models/chat, not deleted yet", f"Release system/{name}: not looked up yet"]
    cluster, release = manifest("InferenceCluster demo"), manifest("Release envoy-gateway")
    for each in (gate("InferenceCluster demo", "it is staged"), cluster, release):
        it.add("ADDED", each)
    it.add("MODIFIED", cluster, **refused)
    for teardown in (
        {"stage": "DrainingServices", "message": "nobody uses it"},
        {"stage": "DrainingServices", "message": "waiting for 2 objects", "waitingFor": waiting},
        {"stage": "DrainingServices", "message": "waiting for 1 object", "waitingFor": waiting[:1]},
        {"stage": "Released", "message": "everything is gone"},
    ):
        it.add("MODIFIED", {**cluster, "status": {"teardown": teardown}}, **refused)
    it.add("DELETED", gate("InferenceCluster demo", "it is staged"))
    it.add("MODIFIED", cluster, **refused)
    assert told(it.events)[2:] == [
        ("InferenceCluster demo", "refused", "it is staged"),
        ("InferenceCluster demo", "stage", "DrainingServices: nobody uses it"),
        ("InferenceCluster demo", "waits for", "chat, envoy-gateway"),
        ("InferenceCluster demo", "stage", "Released: everything is gone"),
    ]


def test_times_never_run_backwards() -> None:
    """A watch that lags behind makes what came after it as late, in the order of the server."""
    it = Recording().gone("Object gateway", "Release envoy-gateway", "ProviderConfig helm")
    late = [replace(event, time=9.0 - event.version) for event in it.events]
    assert [(moment.version, moment.time) for moment in story.narrate(late)] == [(1, 8.0), (2, 8.0), (3, 8.0)]


def test_only_what_stays_for_something_gone_is_released() -> None:
    """A Usage that still has its user is never touched, nor what has gone itself or is not deleted."""
    it = Recording()
    done = usage("ProviderConfig kubernetes", "Object gateway")
    waiting = usage("Release envoy-gateway", "Object gateway")
    needed = usage("Release envoy-gateway", "Object gateway-class")
    for each in (done, waiting, needed, carrier("chat"), carrier("embed")):
        it.add("ADDED", each)
    it.add("MODIFIED", carrier("chat"), deletionTimestamp="now")
    assert story.released(it.events) == []
    it.gone("Object gateway", "LLMService chat", "LLMService embed").add("DELETED", done)
    assert [each["metadata"]["name"] for each in story.released(it.events)] == [
        waiting["metadata"]["name"],
        carrier("chat")["metadata"]["name"],
    ]


def test_usage_without_user_or_with_open_selectors_says_nothing() -> None:
    """A guard has no `by`, and a selector that is not resolved yet names nobody."""
    guard = usage("Release envoy-gateway", "Object gateway")
    del guard["spec"]["by"]
    unresolved = usage("Release envoy-gateway", "Object gateway")
    unresolved["spec"]["by"] = {"kind": "Object", "apiVersion": GROUPS["Object"], "resourceSelector": {}}
    assert [objects.hold(each) for each in (guard, unresolved)] == [None, None]


def test_lines_fit_into_100_columns() -> None:
    """A long reason continues below itself, and a program's long lines are wrapped."""
    config = Thing("ClusterProviderConfig", "x", "x")
    moments = (Moment(1, 100.0, config, "kubernetes", what, "because " * 30) for what in What)
    rows = [verdict.Row("x", holds=False, detail="never went: " + "gateway, " * 30)]
    lines = [line for moment in moments for line in screen.moment_lines(moment, 1, PLAIN)]
    lines += [*screen.verdict_lines(rows, 0, PLAIN), *screen.quoted_lines("word " * 80)]
    assert max(len(line) for line in lines) <= 100
    assert len(lines) > len(What) + 2


def test_long_command_can_be_typed_as_shown() -> None:
    """It is continued with a backslash, and is the same command to a shell."""
    command = f"sed {'-e s,a,b, ' * 12}file | kubectl apply -f -"
    lines = screen.command_lines(command)
    assert max(len(line) for line in lines) <= 100
    typed = "\n".join(lines).removeprefix("$ ").replace("\\\n", " ").replace("|\n", "| ")
    assert shlex.split(typed) == shlex.split(command)
    assert screen.command_lines("kubectl delete ic demo") == ["$ kubectl delete ic demo"]


def test_moment_in_colour_differs_in_colour_alone() -> None:
    """Taking the escapes out gives the plain line."""
    moment = Moment(1, 13.4, Thing("Object", "x", "x"), "gateway", What.GONE, "nothing held it")
    plain, coloured = (screen.moment_lines(moment, 1, Style(colour)) for colour in (False, True))
    assert plain == ["   12.4s  Object gateway                    gone        nothing held it"]
    assert coloured != plain
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == plain


@pytest.mark.parametrize(
    ("environment", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour(environment: dict[str, str], *, terminal: bool, wanted: bool) -> None:
    """Colour only on a terminal that can, and not against NO_COLOR."""
    assert screen.wants_colour(environment, terminal=terminal) is wanted


def test_step_says_how_long_it_took() -> None:
    """A step is announced before and timed after."""
    stream = io.StringIO()
    with Screen(stream).step("something"):
        assert stream.getvalue() == "  something ...\n"
    assert re.fullmatch(r"  something ...\n +0\.\ds  done\n", stream.getvalue())

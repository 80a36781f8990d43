"""Ours answers as the peer's function does, field by field, but for the differences that are listed here.

The peer's answers were recorded at the commit that stands in each file of `peer/`; `make record-peer
PEER=CHECKOUT` writes them again.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import structs
from function.fn import FunctionRunner
from project.test_package_peer import PEER
from support import peer, peer_states
from support.calls import Response

if TYPE_CHECKING:
    from collections.abc import Iterator

Facts = dict[str, Any]
SEVERITIES = {1: "fatal", 2: "warning", 3: "normal"}
ALL = [(source, name) for source in peer_states.CLOUDS for name in peer_states.states(source)]
RECORDED = {source: peer.recorded(source) for source in peer_states.CLOUDS}
RAISED = [(source, name) for source, name in ALL if "raised" in RECORDED[source][name]]
ANSWERED = [case for case in ALL if case not in RAISED]


@dataclass(frozen=True)
class Difference:
    """Facts that differ on purpose: whose they are, where, and in which states (none: in any)."""

    whose: str
    where: str
    why: str
    states: frozenset[str] = field(default_factory=frozenset)

    def explains(self, state: str, where: str, whose: str) -> bool:
        """Whether one differing fact is meant."""
        return (
            (not self.states or state in self.states)
            and self.whose == whose
            and re.fullmatch(self.where, where) is not None
        )


CLASSES_MISSING = frozenset({"classes-unknown", "class-gone"})
_STATE_KEPT = "a missing class drops no resource and no status: the peer's answer deletes the cluster"
_BLOCK_KEPT = "the cluster stays as observed and the condition says why: the peer's answer empties it"
_FLICKER_KEPT = "who uses the cluster needs its ClusterProviderConfig also while the cluster is unready"
_UNFIT_KEPT = "what the cluster XR's schema refuses is told in the condition; the peer sends it"

DIFFERENCES = (
    Difference(
        "ours", r"desired .*\.labels\.inference\.modelplane\.ai/composed", "tells what is ours to retire"
    ),
    Difference(
        "ours",
        r"desired serving-stack\..*/cluster",
        "a ServingStack of ours has its leaves hold the cluster XR that is named here",
    ),
    Difference("ours", r"desired usage-replicas\..*/users", "asked for by name until they are gone"),
    Difference("ours", r"condition DeletionProtected", "says who uses the cluster"),
    Difference("ours", r"required provider-config-usages", "Objects of anybody keep the cluster, too"),
    Difference("ours", r"required stack-(releases|objects)", "each of the stack's leaves holds the cluster"),
    Difference("both", r"ttl", "what is required is not watched: Crossplane looks again sooner"),
    Difference(
        "peer", r"desired [a-z]+-cluster\.spec\.nodePools.*NodeCount", "a null, which the API server drops"
    ),
    Difference("both", r"ready composite", "not ready while a gate is closed, whatever is composed so far"),
    Difference("ours", r"(composite|desired|ready|condition BackendReady).*", _STATE_KEPT, CLASSES_MISSING),
    Difference("peer", r"composite", _STATE_KEPT, CLASSES_MISSING),
    Difference("ours", r"desired [a-z]+-cluster\..*", _BLOCK_KEPT, frozenset({"class-without-block"})),
    Difference("peer", r"desired [a-z]+-cluster", _BLOCK_KEPT, frozenset({"class-without-block"})),
    Difference("both", r"condition ClusterReady", _BLOCK_KEPT, frozenset({"class-without-block"})),
    Difference("ours", r"result warning .*", _BLOCK_KEPT, frozenset({"class-without-block", "unfit-pool"})),
    Difference("peer", r"result warning .*", _BLOCK_KEPT, frozenset({"class-without-block"})),
    Difference("ours", r"(desired|ready) cluster-provider-config.*", _FLICKER_KEPT, frozenset({"flicker"})),
    Difference(
        "both",
        r"condition BackendReady",
        "a backend that is ready is not waiting: the peer gives status True that reason",
        frozenset({"flicker"}),
    ),
    Difference("both", r"desired [a-z]+-cluster\..*", _UNFIT_KEPT, frozenset({"unfit-pool"})),
    Difference("peer", r"desired [a-z]+-cluster\..*", _UNFIT_KEPT, frozenset({"unfit-pool"})),
    Difference("both", r"condition ClusterReady", _UNFIT_KEPT, frozenset({"unfit-pool"})),
)


def facts(rsp: fnv1.RunFunctionResponse) -> Facts:
    """Return everything that an answer says, each fact by where it stands; of two conditions the later."""
    found: Facts = {"ttl": rsp.meta.ttl.seconds, "ready composite": rsp.desired.composite.ready}
    for key, resource in rsp.desired.resources.items():
        found |= _flat(structs.plain_block(resource.resource), f"desired {key}")
        found[f"ready {key}"] = resource.ready == fnv1.READY_TRUE
    found |= _flat(structs.plain_block(rsp.desired.composite.resource), "composite")
    found |= {f"condition {c.type}": (c.status, c.reason, c.message) for c in rsp.conditions}
    severity = {
        fnv1.SEVERITY_NORMAL: "normal",
        fnv1.SEVERITY_WARNING: "warning",
        fnv1.SEVERITY_FATAL: "fatal",
    }
    found |= {f"result {severity[r.severity]} {r.message}": "" for r in rsp.results}
    return found | {f"required {name}": str(given) for name, given in rsp.requirements.resources.items()}


def _flat(value: object, path: str) -> Facts:
    match value:
        case dict() if value:
            parts = {f"{path}.{key}": inner for key, inner in value.items()}
        case list() if value:
            parts = {f"{path}[{index}]": inner for index, inner in enumerate(value)}
        case _:
            return {path: value}
    return {where: found for part, inner in parts.items() for where, found in _flat(inner, part).items()}


def ask(source: str, name: str) -> fnv1.RunFunctionResponse:
    """Run our function for one state."""
    return asyncio.run(FunctionRunner().RunFunction(peer_states.states(source)[name].request(), None))


def differing(source: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield where the answers to one state differ, and whose the fact is."""
    ours, theirs = facts(ask(source, name)), facts(peer.response(RECORDED[source][name]))
    for where in sorted({*ours, *theirs}):
        if where not in theirs:
            yield where, "ours"
        elif where not in ours:
            yield where, "peer"
        elif ours[where] != theirs[where]:
            yield where, "both"


@pytest.mark.parametrize(("source", "name"), ALL)
def test_was_recorded_for_this_very_request(source: str, name: str) -> None:
    """An answer to another request proves nothing; record anew after a change of `support.peer_states`."""
    assert RECORDED[source]["commit"] == peer.COMMIT
    assert RECORDED[source][name]["request"] == peer.digest(peer_states.states(source)[name].request())


@pytest.mark.parametrize("source", peer_states.CLOUDS)
@pytest.mark.parametrize("name", ["classes-unknown", "new", "cluster-ready", "installing", "ready"])
def test_a_live_request_is_answered_with_what_was_recorded_for_it(source: str, name: str) -> None:
    """On a control plane the recorded answers stand in for the peer's function, moment by moment."""
    state = peer_states.states(source).get(name)
    if state is None:
        assert (source, name) == ("Existing", "cluster-ready")
        return
    assert peer.moment(state.request(), source) == name
    assert peer.answer(state.request()) == peer.response(RECORDED[source][name])


@pytest.mark.parametrize(("source", "name"), ANSWERED)
def test_answers_as_the_peer_does(source: str, name: str) -> None:
    """Keys, names, specs, readiness, status, conditions, results and requirements; TTL or shorter."""
    unexplained = [
        (where, whose)
        for where, whose in differing(source, name)
        if not any(difference.explains(name, where, whose) for difference in DIFFERENCES)
    ]
    assert unexplained == []
    assert ask(source, name).meta.ttl.seconds <= peer.response(RECORDED[source][name]).meta.ttl.seconds


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda d: f"{d.whose} {d.where}")
def test_every_listed_difference_is_one(difference: Difference) -> None:
    """A difference that is none any more leaves the table."""
    assert any(
        difference.explains(name, where, whose)
        for source, name in ANSWERED
        for where, whose in differing(source, name)
    )


@pytest.mark.parametrize(("source", "name"), RAISED)
def test_what_makes_the_peer_raise_is_told(source: str, name: str) -> None:
    """Ours keeps all that is observed and says in the ClusterReady condition what is wrong."""
    answer = Response(ask(source, name))
    state = peer_states.states(source)[name]
    assert answer.fatal == []
    assert set(state.observed) <= set(answer.desired)
    ready, reason, message = answer.conditions["ClusterReady"]
    assert (ready, reason) == (False, "InvalidNodePool")
    assert f"{source}Cluster" in message
    for key, manifest in state.observed.items():
        if key.endswith("-cluster"):
            assert answer.desired[key]["spec"] == manifest["spec"]


@pytest.mark.parametrize(("source", "name"), ALL)
def test_each_condition_is_written_once(source: str, name: str) -> None:
    """Two of a type in one answer leave it to Crossplane which one counts."""
    types = [condition.type for condition in ask(source, name).conditions]
    assert len(types) == len(set(types))


@pytest.mark.parametrize(("source", "name"), ALL)
def test_writes_only_what_the_peers_schema_declares(source: str, name: str) -> None:
    """One status field that the installed XRD does not declare fails every reconcile."""
    declared = PEER["InferenceCluster"]
    assert [
        path for path in _fields(Response(ask(source, name)).status, "status") if path not in declared
    ] == []


def _fields(value: object, path: str) -> Iterator[str]:
    """Yield the fields of a value as `peer_fields.yaml` writes them."""
    yield path
    if isinstance(value, list):
        for item in value:
            yield from _fields(item, f"{path}[]")
    if isinstance(value, dict):
        is_map = f"{path}{{}}" in PEER["InferenceCluster"]
        for key, inner in value.items():
            yield from _fields(inner, f"{path}{{}}" if is_map else f"{path}.{key}")

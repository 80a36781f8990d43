"""What is remembered between calls is never another one's: keys are exact, and the memory has a bound."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf import struct_pb2
from hypothesis import given
from hypothesis import strategies as st

from function import server, structs
from function.fn import Answer, FunctionRunner
from function.memo import Memo
from function.server import Answers
from support.calls import Manifest, call, cluster, request
from support.serving import serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from function.wire import Request

STAGED = cluster(deletion={"mode": "Staged"})
UNDERWAY = {**cluster(), "status": {"teardown": {"stage": "DrainingServices"}}}


class Counting(FunctionRunner):
    """Counts its calls; every one is another second."""

    def __init__(self) -> None:
        """Start at none."""
        self.calls = 0
        super().__init__(lambda: datetime(2026, 1, 1, 0, 0, self.calls % 60, tzinfo=UTC))

    def answer(self, req: Request) -> Answer:
        """Count, and answer."""
        self.calls += 1
        return super().answer(req)


class Asker:
    """Asks a server's `Answers` and says how often the function ran."""

    def __init__(self) -> None:
        """Start with an empty memory."""
        self.runner = Counting()
        self.answers = Answers(self.runner)

    def ask(self, raw: bytes) -> fnv1.RunFunctionResponse:
        """Return the answer to one request."""
        context: Any = None  # only a request that cannot be parsed has it used
        return fnv1.RunFunctionResponse.FromString(asyncio.run(self.answers.answer(raw, context)))


def serialized(composite: Manifest, tag: str = "") -> bytes:
    """Return a request as Crossplane sends it."""
    req = request(composite)
    req.meta.tag = tag
    return req.SerializeToString(deterministic=True)


def test_the_third_time_is_answered_from_memory() -> None:
    """The first time is not remembered, the second is; the answers are the same."""
    it, raw = Asker(), serialized(cluster(), "a")
    answers = [it.ask(raw) for _ in range(4)]
    assert it.runner.calls == 2
    assert all(answer == answers[0] for answer in answers)
    assert answers[0].meta.tag == "a"


def test_a_request_that_begins_like_another_is_not_taken_for_it() -> None:
    """The beginning finds what is remembered; what counts is the whole."""
    it, long = Asker(), "a" * 200
    one, other = (serialized(cluster(name=which), long) for which in ("x", "y"))
    assert (len(one), one[:150]) == (len(other), other[:150])
    for raw in (one, one, one, other, one, other, other, other):
        assert it.ask(raw) == Asker().ask(raw)
    it.runner.calls = 0
    it.ask(other)
    it.ask(one)
    assert it.runner.calls == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(serialized(cluster(), "b"), id="another tag, the same content"),
        pytest.param(serialized(cluster(name="other"), "a"), id="the same tag, another content"),
        pytest.param(serialized(cluster("Existing"), "a"), id="the same tag, and refused"),
    ],
)
def test_another_request_is_never_answered_from_memory(other: bytes) -> None:
    """The tag alone is no key: Crossplane keeps it while it fetches what the function asked for."""
    it, raw = Asker(), serialized(cluster(), "a")
    for _ in range(3):
        it.ask(raw)
    it.runner.calls = 0
    fresh = Asker().ask(other)
    assert it.ask(other) == fresh
    assert it.runner.calls == 1


@pytest.mark.parametrize(
    "composite",
    [
        pytest.param(STAGED, id="staged"),
        pytest.param(UNDERWAY, id="a teardown is underway"),
        pytest.param(cluster("Moon"), id="refused, and logged each time"),
    ],
)
def test_what_depends_on_the_time_is_not_remembered(composite: Manifest) -> None:
    """A staged teardown waits so many seconds: an answer from memory would wait for ever."""
    it, raw = Asker(), serialized(composite)
    for _ in range(5):
        it.ask(raw)
    assert it.runner.calls == 5


def test_the_memory_has_a_bound() -> None:
    """Many requests that come again and again push each other out; a huge one is not kept at all."""
    it = Asker()
    for number in range(100):
        for _ in range(2):
            it.ask(serialized(cluster(name=f"c{number}")))
    remembered = it.answers._answers._known  # noqa: SLF001 -- what is tested
    assert len(remembered) == server._MOST_ANSWERS  # noqa: SLF001 -- the same
    huge = serialized({**cluster(), "metadata": {"name": "huge", "annotations": {"a": "x" * 600_000}}})
    for _ in range(3):
        it.ask(huge)
    assert huge not in remembered


def test_a_memo_forgets_the_first() -> None:
    """One more than there is room for takes the place of the oldest."""
    memo: Memo[str, int] = Memo(2)
    for number, key in enumerate("abc"):
        assert memo.put(key, number) == number
    assert [memo.get(key) for key in "abc"] == [None, 1, 2]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("write", [structs.write, structs.write_shared])
@given(content=st.dictionaries(st.text(max_size=2), JSON, max_size=4))
def test_what_is_written_is_read_back(
    write: Callable[[struct_pb2.Struct, Manifest], None], content: Manifest
) -> None:
    """Through the memories and past them; true, 1 and 1.0 are not taken for one another."""
    struct = struct_pb2.Struct()
    write(struct, content)
    expected = struct_pb2.Struct()
    expected.update(content)
    assert struct == expected
    for key, value in struct.fields.items():
        assert _exact(structs.shared(value)) == _exact(structs.plain(value))
        assert structs.shared(value) == content[key]


def _exact(content: Any) -> str:  # noqa: ANN401 -- JSON
    return json.dumps(content, sort_keys=True)


CLASS: Manifest = {
    "apiVersion": "modelplane.ai/v1alpha1",
    "kind": "InferenceClass",
    "metadata": {"name": "l4"},
}


def _pools(machine: str, nodes: int) -> Any:  # noqa: ANN401 -- JSON
    eks = {"instanceType": machine, "accelerator": {"type": "nvidia-l4"}}
    given = {**CLASS, "spec": {"provisioning": {"eks": eks}}}
    pools = [{"name": "gpu", "className": "l4", "nodeCount": nodes, "zones": ["a"]}]
    composite = cluster("EKS", block={"eks": {"region": "r"}}, nodePools=pools)
    (pool,) = call(composite, {}, {"class-l4": [given]}).desired["eks-cluster"]["spec"]["nodePools"]
    return pool["instanceType"], pool["nodeCount"]


def test_a_class_or_a_pool_that_changes_is_seen_at_once() -> None:
    """Forth and back: what was made of an earlier spec is used for that one only."""
    asked = [("small", 1), ("large", 1), ("small", 2), ("small", 1), ("large", 2), ("large", 1)]
    assert [_pools(*pair) for pair in asked] == asked


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_both_versions_of_the_protocol_are_served(version: str) -> None:
    """They are the same bytes; what is no request is refused by its status."""
    method = f"/apiextensions.fn.proto.{version}.FunctionRunnerService/RunFunction"
    with serve() as address, grpc.insecure_channel(address) as channel:
        ask = channel.unary_unary(method, bytes, bytes)
        rsp = fnv1.RunFunctionResponse.FromString(ask(serialized(cluster()), timeout=30))
        assert "serving-stack" in rsp.desired.resources
        with pytest.raises(grpc.RpcError) as caught:
            ask(b"\xff\xff", timeout=30)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT

"""A request is parsed no further than needed, and nothing of it is read differently for that."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf import struct_pb2
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from function import respond, structs, wire
from function.fn import FunctionRunner
from function.model import Carried, Edge, Ref, Usage
from function_bench.shuffling import shuffled
from function_bench.states import state
from support.calls import Manifest, Response, cluster, request
from support.serving import serve

if TYPE_CHECKING:
    from function.model import Content

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(content=st.dictionaries(st.text(max_size=2), JSON, max_size=4), seed=st.integers(0, 99))
def test_it_reads_as_the_sdk_reads_it(content: Manifest, seed: int) -> None:
    """Whatever the content, and whatever the order of its maps; the same content is the same object."""
    req = request(content)
    read = wire.request(shuffled(req, random.Random(seed))).observed.composite.resource  # noqa: S311 -- not a secret
    theirs = req.observed.composite.resource
    assert structs.plain_block(read) == structs.plain_block(theirs)
    for key, value in theirs.fields.items():
        entries = [structs.plain(entry) for entry in structs.entries(structs.get(read, key))]
        assert entries == [structs.plain(entry) for entry in value.list_value.values]
        assert structs.shared(structs.get(read, key)) is structs.shared(value)


def test_a_list_is_parsed_when_it_is_read() -> None:
    """What nobody reads may be anything; what is read has to be a list."""
    raw = _broken("managedFields")
    value = structs.get(wire.request(raw).observed.composite.resource, "managedFields")
    with pytest.raises(DecodeError):
        structs.entries(value)


def _broken(field: str) -> bytes:
    """Return a request of an InferenceCluster in which one list is no ListValue."""
    body = wire._PARSERS["Struct"]()  # noqa: SLF001 -- to write what no JSON says
    body.MergeFromString(struct_pb2.Struct(fields=_fields(cluster())).SerializeToString())
    body.fields[field].list_value = b"\xff"
    req = wire._PARSERS["Request"]()  # noqa: SLF001 -- the same
    req.observed.composite.resource.CopyFrom(body)
    raw: bytes = req.SerializeToString()
    return raw


def _fields(content: Manifest) -> Any:  # noqa: ANN401 -- protobuf's
    struct = struct_pb2.Struct()
    structs.write(struct, content)
    return struct.fields


@pytest.mark.parametrize(
    ("field", "status"),
    [
        pytest.param("managedFields", grpc.StatusCode.OK, id="nobody reads it"),
        pytest.param("spec", grpc.StatusCode.INVALID_ARGUMENT, id="it is read"),
    ],
)
def test_a_list_that_is_none_is_refused_where_it_is_read(field: str, status: grpc.StatusCode) -> None:
    """As any request that cannot be parsed."""
    method = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction"
    with serve() as address, grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(method, bytes, bytes).with_call
        answered: Any
        try:
            _, answered = call(_broken(field), timeout=30)
        except grpc.RpcError as error:
            answered = error
    assert answered.code() == status


def test_the_order_of_maps_plays_no_part() -> None:
    """Go's protobuf writes them in another order each time."""
    given_state = state(3)
    assert len(set(given_state.orders)) == len(given_state.orders)
    theirs = {
        fnv1.RunFunctionRequest.FromString(o).SerializeToString(deterministic=True)
        for o in given_state.orders
    }
    assert theirs == {given_state.body}
    runner = FunctionRunner()
    raw = {runner.answer(wire.request(order)).raw for order in given_state.orders[:20]}
    answers = [Response(fnv1.RunFunctionResponse.FromString(answer)) for answer in raw]
    assert all(answer.desired == given_state.answer.desired for answer in answers)
    assert all(answer.status == given_state.answer.status for answer in answers)


def _usage(name: str, *, replay: bool = True) -> Usage:
    edge = Edge("k", Ref("v1", "Secret", name, "a"), Ref("v1", "ConfigMap", "user", "a"))
    return Usage(edge, "a", replay)


def _carried(**data: Any) -> Carried:  # noqa: ANN401 -- JSON
    return Carried(struct_pb2.Struct(fields=_fields({"kind": "ConfigMap", "data": data})))


VALUES: list[Any] = [1, True, "1", None, [], {}, [1], ["1"]]
CONTENTS: list[Content] = [
    _usage("x"),
    _usage("y"),
    _usage("x", replay=False),
    *(_carried(a=value) for value in VALUES),
]


def _step(key: str, content: Content, ready: bool) -> fnv1.RunFunctionResponse:  # noqa: FBT001 -- a table's row
    raw = respond._step(key, content, ready=ready)  # noqa: SLF001 -- what is tested
    return fnv1.RunFunctionResponse.FromString(raw)


def test_a_part_that_is_kept_is_never_another_ones() -> None:
    """Key, content and readiness all count: true, 1 and "1" are not taken for one another."""
    cases = list(itertools.product("ab", CONTENTS, (True, False)))
    fresh: list[fnv1.RunFunctionResponse] = []
    for case in cases:
        respond._written._known.clear()  # noqa: SLF001 -- so that nothing is known
        fresh.append(_step(*case))
    assert all(one != other for one, other in itertools.combinations(fresh, 2))
    for _ in range(2):
        assert [_step(*case) for case in cases] == fresh


def test_the_parts_that_are_kept_have_a_bound() -> None:
    """So many, and no long ones."""
    for number in range(respond._MOST_KEPT + 50):  # noqa: SLF001 -- what is tested
        respond._step(f"k{number}", CONTENTS[0], ready=True)  # noqa: SLF001 -- the same
    assert len(respond._written._known) == respond._MOST_KEPT  # noqa: SLF001 -- the same
    long = _carried(a="x" * respond._LONGEST_KEPT)  # noqa: SLF001 -- the same
    assert respond._step("k", long, ready=True) is not respond._step("k", long, ready=True)  # noqa: SLF001 -- the same

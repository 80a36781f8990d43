"""Checks the answers before anything is measured: a fast wrong answer is worth nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function_bench.servers import METHOD
from support.calls import Response

if TYPE_CHECKING:
    from function.structs import Plain
    from function_bench.servers import Server
    from function_bench.states import State


def ask(server: Server, body: bytes) -> Response:
    """Return one answer."""
    with grpc.insecure_channel(server.address) as channel:
        raw: bytes = channel.unary_unary(METHOD, bytes, bytes)(body)
    return Response(fnv1.RunFunctionResponse.FromString(raw))


def check(servers: dict[str, Server], state: State) -> None:
    """Assert that all answer and that ours says everything that Modelplane's does."""
    ours = ask(servers["ours"], state.body)
    assert ours.fatal == []
    assert ours.desired == state.answer.desired
    assert ours.status == state.answer.status
    changed = next(state.changed(10**6))
    assert ask(servers["ours"], changed).status != ours.status, "a changed state was answered from memory"
    assert ask(servers["echo"], state.body).desired == {}
    if "peer" in servers:
        _check_peer(ask(servers["peer"], state.body), ours)


def _check_peer(theirs: Response, ours: Response) -> None:
    assert theirs.fatal == []
    for key, manifest in theirs.desired.items():
        missing = _missing(manifest, ours.desired[key], key)
        assert missing == [], missing
    assert _missing(theirs.status, ours.status, "status") == []
    assert theirs.conditions.items() <= ours.conditions.items()


def _missing(theirs: Plain, ours: Plain, path: str) -> list[str]:
    """Return where ours lacks what theirs has; what ours adds is left alone."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return [p for k, v in theirs.items() for p in _missing(v, ours.get(k), f"{path}.{k}")]
    return [] if theirs == ours else [f"{path}: {theirs!r} is not {ours!r}"]

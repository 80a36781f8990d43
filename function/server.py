"""Serves the function over gRPC: takes each request as bytes, and answers the very same bytes from memory.

The SDK's own server has parsed a request before anybody can look at it, and parsing is most of what a call
costs. Everything else is as the SDK does it: v1 and v1beta1, which are the same bytes, reflection, mTLS.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import grpc.aio
from crossplane.function import runtime
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha import reflection

from function import wire
from function.fn import timeless
from function.memo import Memo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from function.fn import FunctionRunner

Context = grpc.aio.ServicerContext[bytes, bytes]

# Answers that are remembered, and the longest request that is: together at most 16 MiB of requests.
_MOST_ANSWERS, _LONGEST_REQUEST = 32, 512 * 1024
_MOST_SEEN = 256

# Crossplane begins a request with a hash of its content, so this much of it tells nearly all apart.
_BEGINNING = 128


class Answers:
    """Answers requests; an answer from memory is one to the very same bytes, so nothing is missed.

    A request is remembered when it comes for the second time: most never do, and would only push out others.
    An answer that depends on the time is never remembered.
    """

    def __init__(self, runner: FunctionRunner) -> None:
        """Remember nothing yet."""
        self._runner = runner
        self._answers: Memo[bytes, tuple[bytes, bytes]] = Memo(_MOST_ANSWERS)  # the request, and the answer
        self._seen: Memo[bytes, bool] = Memo(_MOST_SEEN)

    async def answer(self, raw: bytes, context: Context) -> bytes:
        """Answer one request."""
        beginning = raw[:_BEGINNING]
        known = self._answers.get(beginning)
        if known is not None and known[0] == raw:
            return known[1]
        try:
            req = wire.request(raw)
            answer = self._runner.answer(req)
        except DecodeError:  # the answer parses the lists that it reads
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not a RunFunctionRequest")
        if len(raw) <= _LONGEST_REQUEST and self._again(beginning) and timeless(req, answer):
            self._answers.put(beginning, (raw, answer.raw))
        return answer.raw

    def _again(self, beginning: bytes) -> bool:
        if self._seen.get(beginning):
            return True
        self._seen.put(beginning, value=True)
        return False


def serve(
    runner: FunctionRunner, address: str, certificates: str | None, options: Sequence[tuple[str, Any]]
) -> None:
    """Serve until SIGTERM; without a folder of certificates, insecurely."""
    asyncio.run(_serve(Answers(runner), address, certificates, options))


async def _serve(
    answers: Answers, address: str, certificates: str | None, options: Sequence[tuple[str, Any]]
) -> None:
    server = grpc.aio.server(options=options)
    for service in runtime.SERVICE_NAMES:
        if service != reflection.SERVICE_NAME:
            method = grpc.unary_unary_rpc_method_handler(answers.answer)
            handler = grpc.method_handlers_generic_handler(service, {"RunFunction": method})
            server.add_generic_rpc_handlers((handler,))
    reflection.enable_server_reflection(runtime.SERVICE_NAMES, server)
    if certificates:
        server.add_secure_port(address, runtime.load_credentials(certificates))
    else:
        server.add_insecure_port(address)
    stopping: set[asyncio.Task[None]] = set()

    def stop() -> None:
        stopping.add(asyncio.ensure_future(server.stop(grace=runtime.SHUTDOWN_GRACE_PERIOD_SECONDS)))

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    await server.start()
    await server.wait_for_termination()

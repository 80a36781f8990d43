"""Sends requests, so many at a time, for a while, and says what that cost."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc.aio

from function_bench.servers import METHOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from function_bench.servers import Server


@dataclass
class Cost:
    """What a number of calls cost: seconds of each call, of the server's CPU, and on the clock."""

    latencies: list[float] = field(default_factory=list)
    cpu: float = 0.0
    seconds: float = 0.0

    @property
    def calls(self) -> int:
        """How many calls were answered."""
        return len(self.latencies)

    @property
    def cpu_per_call(self) -> float:
        """Server CPU milliseconds a call."""
        return 1000 * self.cpu / self.calls

    @property
    def per_second(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds

    def quantile(self, share: float) -> float:
        """Return the milliseconds within which that share of the calls was answered."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]


Shots = list[tuple["Server", "Iterator[bytes]", Cost]]


def interleave(shots: Shots, *, concurrency: int, rounds: int, seconds: float) -> None:
    """Measure all servers in turn, `rounds` times for `seconds` each, turning the order round every time."""

    async def run() -> None:
        for number in range(rounds):
            for server, bodies, cost in shots if number % 2 else reversed(shots):
                await _segment(server, bodies, cost, (concurrency, seconds))

    asyncio.run(run())


async def _segment(server: Server, bodies: Iterator[bytes], cost: Cost, shape: tuple[int, float]) -> None:
    concurrency, seconds = shape
    async with grpc.aio.insecure_channel(server.address) as channel:
        call = channel.unary_unary(METHOD, bytes, bytes)
        await call(next(bodies))  # connects
        cpu, began = server.cpu(), time.perf_counter()

        async def work() -> None:
            while time.perf_counter() - began < seconds:
                sent = time.perf_counter()
                await call(next(bodies))
                cost.latencies.append(time.perf_counter() - sent)

        await asyncio.gather(*(work() for _ in range(concurrency)))
        cost.cpu += server.cpu() - cpu
        cost.seconds += time.perf_counter() - began


def median(values: Sequence[float]) -> float:
    """Return the middle value."""
    return sorted(values)[len(values) // 2]

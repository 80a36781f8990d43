"""When passes run: a wait is counted from the decision, not from the end of the pass that decided."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from llm_operator.clock import Clock
from llm_operator.passes import Key, Passes

SERVICE = ("models", "sable")
SETTLE = timedelta(seconds=60)


def test_a_long_pass_does_not_make_the_next_one_late(tmp_path: Path) -> None:
    """The clock moves on by 58 s while a pass runs that asked to come back 60 s after it began."""
    offset = tmp_path / "clock"
    began, second = asyncio.run(_two_passes(offset, moves=[58, 60]))
    assert SETTLE <= second - began < SETTLE + timedelta(seconds=10)


def test_a_moment_that_passed_during_the_pass_is_now(tmp_path: Path) -> None:
    """The next pass follows at once, and does not count as a late one."""
    offset = tmp_path / "clock"
    began, second = asyncio.run(_two_passes(offset, moves=[90, 90]))
    assert timedelta(seconds=90) <= second - began < timedelta(seconds=100)


async def _two_passes(offset: Path, moves: list[int]) -> tuple[datetime, datetime]:
    """Return when two passes began; the clock stands at `moves` in and after the first one."""
    clock = Clock(str(offset))
    starts: list[datetime] = []
    ended = asyncio.Event()

    async def one_pass(_key: Key) -> datetime | None:
        starts.append(clock.now())
        if len(starts) > 1:
            ended.set()
            return None
        _move(offset, moves[0])
        return starts[0] + SETTLE

    passes = Passes(clock, one_pass)
    passes.add(SERVICE)
    running = asyncio.create_task(passes.run())
    await asyncio.sleep(0.2)
    _move(offset, moves[1])
    await asyncio.wait_for(ended.wait(), 20)
    running.cancel()
    assert passes.latest < timedelta(seconds=15)
    assert starts[0].tzinfo is UTC
    return starts[0], starts[1]


def _move(offset: Path, seconds: int) -> None:
    offset.write_text(str(seconds))

"""The queue of passes.

Per object at most one at a time, each as its own task, so that no object waits for another.

Due times are on the controller's clock, and moments rather than waits: a wait that is counted from the end of
the pass that asked for it would be late by as long as that pass took. A key that is added while its pass runs
gets another pass right after it.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from llm_operator.clock import Clock
from llm_operator.ending import finish

Key = tuple[str, str]
Pass = Callable[[Key], Awaitable[datetime | None]]
"""One pass over one object; it returns the moment to come back, None for never. It must not raise."""


class Passes:
    """Runs passes when they are due."""

    def __init__(self, clock: Clock, one_pass: Pass) -> None:
        """Start without any key."""
        self._clock, self._pass = clock, one_pass
        self._due: dict[Key, datetime] = {}
        self._heap: list[tuple[datetime, Key]] = []
        self._running: dict[Key, asyncio.Task[None]] = {}
        self._again: set[Key] = set()
        self._wake = asyncio.Event()
        self.latest = timedelta(0)
        """The longest that a pass ever began after its due time."""

    @property
    def waiting(self) -> int:
        """How many keys wait for their due time."""
        return len(self._due)

    @property
    def running(self) -> int:
        """How many passes run."""
        return len(self._running)

    def add(self, key: Key, due: datetime | None = None) -> None:
        """Ask for a pass when it is `due`, else now; an earlier one that is already asked for stands."""
        if key in self._running:
            self._again.add(key)
            return
        due = due or self._clock.now()
        if key not in self._due or due < self._due[key]:
            self._due[key] = due
            heapq.heappush(self._heap, (due, key))
            self._wake.set()

    async def run(self) -> None:
        """Start passes as they become due, until cancelled."""
        while True:
            self._wake.clear()
            self._start_due()
            wait = self._clock.until(self._heap[0][0]) if self._heap else None
            try:
                async with asyncio.timeout(wait):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def drain(self, seconds: float) -> None:
        """Wait for running passes to end, cancel what has not after so many seconds."""
        await finish(self._running.values, seconds)

    def _start_due(self) -> None:
        now = self._clock.now()
        while self._heap and self._heap[0][0] <= now:
            due, key = heapq.heappop(self._heap)
            if self._due.get(key) != due:
                continue  # An earlier pass was asked for in the meantime.
            del self._due[key]
            self.latest = max(self.latest, now - due)
            self._running[key] = asyncio.create_task(self._one(key))

    async def _one(self, key: Key) -> None:
        due = None
        try:
            due = await self._pass(key)
        finally:
            del self._running[key]
            if key in self._again:
                self._again.discard(key)
                self.add(key)
            elif due is not None:
                self.add(key, max(due, self._clock.now()))

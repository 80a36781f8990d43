"""The changes that run: each in a task of its own, so that a caller who hangs up cancels no helm."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from llm_operator.ending import finish
from release_api.errors import UnavailableError

_T = TypeVar("_T")


class Running:
    """Runs changes, and ends them in good order."""

    def __init__(self) -> None:
        """Start with none."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, change: Coroutine[Any, Any, _T]) -> _T:
        """Run a change to its end, and return what came of it, if somebody still waits for that."""
        task = asyncio.create_task(change)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise  # Whoever waited gives up; the change goes on.
            raise UnavailableError("the server stops: another goes on within a minute") from None

    async def drain(self, seconds: float) -> None:
        """Wait for what runs; what has not ended then is cancelled and leaves its lock to run out."""
        await finish(lambda: self._tasks, seconds)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # Retrieved: whoever waits gets it, and nobody need wait any more.

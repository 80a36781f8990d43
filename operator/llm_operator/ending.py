"""An end in good order: what runs gets its time, what has not ended then is cancelled."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

Tasks = Callable[[], Iterable[asyncio.Task[Any]]]


async def finish(running: Tasks, seconds: float) -> None:
    """Wait so long for what runs, then cancel what does; also what was begun meanwhile."""
    if tasks := list(running()):
        await asyncio.wait(tasks, timeout=seconds)
    tasks = list(running())
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

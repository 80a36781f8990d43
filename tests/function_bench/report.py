"""Puts the figures into a table: ratios to the echo and to Modelplane's function, beside the goals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from function_bench.load import Cost
    from function_bench.states import State


@dataclass(frozen=True)
class Cell:
    """One size, so many calls at a time, one kind of state: the cost of each server."""

    size: int
    concurrency: int
    kind: str
    costs: Mapping[str, Cost]


@dataclass(frozen=True)
class Start:
    """Seconds from the start of a process to its first answer, the best of several, and MiB resident then."""

    seconds: float
    memory: float


@dataclass(frozen=True)
class Goal:
    """A figure and what it has to be; `most` false makes the limit a least."""

    name: str
    found: float
    limit: float
    most: bool = True

    @property
    def met(self) -> bool:
        """Whether the figure is within the limit."""
        return self.found <= self.limit if self.most else self.found >= self.limit


def sizes(states: Mapping[int, State]) -> str:
    """Say how large the requests are."""
    return "request: " + ", ".join(f"size {s.size} {len(s.body) / 1000:.0f} KB" for s in states.values())


_HEAD = (
    "\n| size | at a time | state | echo ms CPU | ours / echo | peer / echo | ours / peer: CPU | calls/s "
    "| p50 | p99 |\n|---|---|---|---|---|---|---|---|---|---|\n"
)


def table(cells: list[Cell], starts: Mapping[str, Start], after: Mapping[str, float], growth: float) -> str:
    """Return everything that was measured, as Markdown."""
    rows = "".join(_row(cell) for cell in cells)
    started = "".join(
        f"| {name} | {1000 * s.seconds:.0f} ms | {s.memory:.0f} MiB | {after[name]:.0f} MiB |\n"
        for name, s in starts.items()
    )
    head = "\n| | first answer | memory then | after all calls |\n|---|---|---|---|\n"
    goals = "".join(
        f"| {g.name} | {g.found:.2f} | {'at most' if g.most else 'at least'} {g.limit} "
        f"| {'met' if g.met else 'MISSED'} |\n"
        for g in _goals(cells, starts, growth)
    )
    return f"{_HEAD}{rows}{head}{started}\n| goal at size 10 | found | limit | |\n|---|---|---|---|\n{goals}"


def _row(cell: Cell) -> str:
    echo, ours, peer = (cell.costs.get(name) for name in ("echo", "ours", "peer"))
    assert echo is not None
    assert ours is not None
    figures = [f"{echo.cpu_per_call:.2f}", f"{ours.cpu_per_call / echo.cpu_per_call:.2f}"]
    if peer is None:
        figures += ["-"] * 5
    else:
        figures += [
            f"{peer.cpu_per_call / echo.cpu_per_call:.2f}",
            f"{ours.cpu_per_call / peer.cpu_per_call:.2f}",
            f"{ours.per_second / peer.per_second:.1f}",
            f"{ours.quantile(0.5) / peer.quantile(0.5):.2f}",
            f"{ours.quantile(0.99) / peer.quantile(0.99):.2f}",
        ]
    return f"| {cell.size} | {cell.concurrency} | {cell.kind} | {' | '.join(figures)} |\n"


def _goals(cells: list[Cell], starts: Mapping[str, Start], growth: float) -> Iterator[Goal]:
    for cell in cells:
        if cell.size == 10:
            yield from _cell_goals(cell)
    yield Goal("in-process cost at 50 to that at 10", growth, 1.3)
    echo, ours = starts["echo"], starts["ours"]
    yield Goal("idle memory to echo's", ours.memory / echo.memory, 1.2)
    yield Goal("first answer to echo's", ours.seconds / echo.seconds, 1.2)


def _cell_goals(cell: Cell) -> Iterator[Goal]:
    echo, ours, at = cell.costs["echo"], cell.costs["ours"], f"{cell.kind}, {cell.concurrency} at a time"
    limit = 1.6 if cell.kind == "changed" else 1.1
    yield Goal(f"CPU to echo's, {at}", ours.cpu_per_call / echo.cpu_per_call, limit)
    if (peer := cell.costs.get("peer")) is not None:
        yield Goal(f"CPU to peer's, {at}", ours.cpu_per_call / peer.cpu_per_call, 0.2)
        yield Goal(f"p99 to peer's, {at}", ours.quantile(0.99) / peer.quantile(0.99), 0.25)
        if cell.concurrency > 1:
            yield Goal(f"calls/s to peer's, {at}", ours.per_second / peer.per_second, 5, most=False)

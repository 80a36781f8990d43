"""Runs the measurement and prints the table.

    python -m function_bench                 three sizes, under three minutes
    PEER=CHECKOUT python -m function_bench   the same beside Modelplane's compose-inference-cluster

Every figure is a ratio of two that were measured in turn in this run: the machine's own speed cancels out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from function_bench import checking, inside, report, servers
from function_bench.load import Cost, interleave, median
from function_bench.report import Cell, Start
from function_bench.states import state

SIZES = (1, 10, 50)
CONCURRENCY = (1, 8, 32)
_STARTS = 5


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m function_bench")
    parser.add_argument("--seconds", type=float, default=0.4, help="length of one segment")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="node pools and replicas")
    parser.add_argument("--rounds", type=int, default=4, help="segments of each server in each cell")
    given = parser.parse_args()
    programs = [servers.echo(), servers.ours()]
    if checkout := os.environ.get("PEER"):
        programs.append(servers.peer(Path(checkout)))
    states = {size: state(size) for size in given.sizes}
    sys.stdout.write(report.sizes(states) + "\n")
    starts = _starts(programs, next(iter(states.values())).body)
    cells: list[Cell] = []
    with contextlib.ExitStack() as stack:
        running = {
            p.name: stack.enter_context(servers.serve(p, next(iter(states.values())).body)) for p in programs
        }
        for found in states.values():
            checking.check(running, found)
        number = 0
        for size, found in states.items():
            for concurrency in CONCURRENCY:
                for kind in ("changed", "unchanged"):
                    costs = {name: Cost() for name in running}
                    number += 10**6
                    shots = [
                        (s, found.changed(number) if kind == "changed" else found.unchanged(), costs[name])
                        for name, s in running.items()
                    ]
                    interleave(shots, concurrency=concurrency, rounds=given.rounds, seconds=given.seconds)
                    cells.append(Cell(size, concurrency, kind, costs))
        after = {name: server.memory() for name, server in running.items()}
    growth = inside.growth(state(10), state(50))
    sys.stdout.write(report.table(cells, starts, after, growth))


def _starts(programs: list[servers.Program], body: bytes) -> dict[str, Start]:
    seconds: dict[str, list[float]] = {p.name: [] for p in programs}
    memory: dict[str, list[float]] = {p.name: [] for p in programs}
    for _ in range(_STARTS):
        for program in programs:
            with servers.serve(program, body) as server:
                seconds[program.name].append(server.first_answer)
                memory[program.name].append(server.memory())
    return {name: Start(min(seconds[name]), median(memory[name])) for name in seconds}


if __name__ == "__main__":
    main()

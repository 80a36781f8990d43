"""Who runs the documents' commands: the table of tests/project/commands.yaml, and what a test has run of it.

A test asks for a command by the name of its row and runs the text that stands in the documents. Each command
that was run is noted; a test that passes without having run all that the table says it runs fails after all
(see tests/conftest.py).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import yaml

from support import commands

TABLE = commands.ROOT / "tests" / "project" / "commands.yaml"
_RAN: set[str] = set()


class Row(NamedTuple):
    """A command, its name, the tests that run it, or the reason why none does."""

    command: str
    name: str = ""
    run: tuple[str, ...] = ()
    not_run: str = ""


@functools.cache
def table() -> tuple[Row, ...]:
    """Return all rows."""
    found = yaml.safe_load(TABLE.read_text())
    run = [Row(r["command"], r.get("name", ""), tuple(f"tests/{t}" for t in r["by"])) for r in found["run"]]
    return (*run, *(Row(command, not_run=reason) for command, reason in found["not run"].items()))


@functools.cache
def _in_documents() -> frozenset[str]:
    return frozenset(commands.every())


def command(name: str) -> str:
    """Return the command of a row, as it stands in the documents."""
    (found,) = [row.command for row in table() if row.name == name]
    assert found in _in_documents(), f"no document has the command {found!r}"
    return found


def note(text: str) -> None:
    """Remember that a command was run; it counts where it stands in a document in these words."""
    _RAN.add(text)


def begin() -> None:
    """Forget what the test before has run."""
    _RAN.clear()


def left_out(nodeid: str) -> list[str]:
    """Return the commands that this test should have run and has not."""
    names = {nodeid, nodeid.partition("[")[0]}
    return [row.command for row in table() if names & {*row.run} and row.command not in _RAN]

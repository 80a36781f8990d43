"""Every command of the documents has its row, and every row its command and its tests."""

from __future__ import annotations

import ast
import re
import subprocess

import pytest

from support import commands, documented
from support.commands import ROOT

NOT_RUN = [row.command for row in documented.table() if row.not_run]


def test_every_command_has_one_row() -> None:
    """No command is left to nobody, and no row is left over."""
    found, rows = commands.every(), [row.command for row in documented.table()]
    told = {text: found[text] for text in found if text not in rows}
    assert told == {}, "no row in tests/project/commands.yaml"
    assert [text for text in rows if text not in found] == [], "no document has these commands"
    assert len(rows) == len(set(rows))


def test_names() -> None:
    """A name stands for one command."""
    names = [row.name for row in documented.table() if row.name]
    assert len(names) == len(set(names))


def test_every_row_has_tests_that_run_it(request: pytest.FixtureRequest) -> None:
    """Each test is there; that it runs the command is seen when it has run (tests/conftest.py)."""
    collected = [item.nodeid for item in request.session.items]
    known = {*collected, *(nodeid.partition("[")[0] for nodeid in collected)}
    whole = request.config.args == request.config.getini("testpaths") and not request.config.option.keyword
    for row in documented.table():
        assert bool(row.run) != bool(row.not_run), row.command
        for nodeid in row.run:
            file, _, name = nodeid.partition("::")
            assert name.partition("[")[0] in _tests(file), f"{nodeid} is not there"
            assert not whole or nodeid in known, f"{nodeid} is not collected"


def _tests(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("command", [each for each in NOT_RUN if "make " in each and "..." not in each])
def test_make_knows_what_is_not_run(command: str) -> None:
    """`make -n` has something to run for it."""
    dry = command.replace("make ", "make --dry-run ", 1)
    done = subprocess.run(["bash", "-c", dry], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ".venv/bin/" in done.stdout


def test_a_kind_of_command_names_nothing() -> None:
    """What only names a kind of command has no object to act on: it cannot be typed as it stands."""
    kinds = [row.command for row in documented.table() if row.not_run == "names a kind of command"]
    assert [each for each in kinds if len(each.split()) > 4 or re.search(r"[A-Z]{2}(?!.*\.\.\.)", each)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```\nkubectl get \\\n  pods\n```", ["kubectl get pods"]),
        ("```bash\n# a remark\nmake x # another\n```", ["make x"]),
        ("```console\n$ helm list\nNAME\n```", ["helm list"]),
        ("```\nfor x in 1; do\n  make $x\ndone\n```", ["for x in 1; do\nmake $x\ndone"]),
        ("```\n  0.0 s  RouteRemoving\n```", []),
        ("```yaml\nmake: x\n```", []),
        ("| `kubectl get\n x` |", ["kubectl get x"]),
        ("`PEER=X make y` and `export X=$(make z)`", ["PEER=X make y", "export X=$(make z)"]),
        ("`make` and `kubectl` and `DELETE x`", []),
        ("`modelctl plan [-o json]`", []),
        ("`a \\| b` and `kubectl a \\| sh`", ["kubectl a | sh"]),
    ],
)
def test_extracted(text: str, found: list[str]) -> None:
    """What counts as a command."""
    assert [command.text for command in commands.extract(text)] == found


def test_a_test_that_runs_nothing_is_found() -> None:
    """The check behind the table: what a test should have run and has not."""
    row = next(row for row in documented.table() if row.run)
    documented.begin()
    assert row.command in documented.left_out(row.run[0])
    documented.note(row.command)
    assert row.command not in documented.left_out(row.run[0])
    documented.begin()

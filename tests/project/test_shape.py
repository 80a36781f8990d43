"""Files and functions stay small enough to be read at a glance."""

from __future__ import annotations

import ast
import itertools
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("function", "operator", "tests", "examples")
FILES = sorted(itertools.chain.from_iterable((ROOT / f).rglob("*.py") for f in FOLDERS))
MOST_LINES = 300
LONGEST_FUNCTION = 50
MEDIAN_FUNCTION = 10


def functions(file: Path) -> list[tuple[str, int]]:
    """Return name and length in lines of every function of a file, decorators and docstring included."""
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(n.name, (n.end_lineno or n.lineno) - n.lineno + 1) for n in nodes if isinstance(n, kinds)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_file(file: Path) -> None:
    """No file over 300 lines, no function over 50."""
    assert len(file.read_text("utf-8").splitlines()) <= MOST_LINES
    assert [found for found in functions(file) if found[1] > LONGEST_FUNCTION] == []


@pytest.mark.parametrize("folder", ["function", "operator"])
def test_median(folder: str) -> None:
    """Half of a product's functions have at most 10 lines, docstring included."""
    lengths = [length for file in (ROOT / folder).rglob("*.py") for _, length in functions(file)]
    assert statistics.median(lengths) <= MEDIAN_FUNCTION

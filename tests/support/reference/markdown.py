"""Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; a cell is one line, and its bars are no borders."""
    lines = [_row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def code(text: str) -> str:
    """Set a text as code, and nothing for nothing."""
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str]) -> str:
    """Set several texts as code."""
    return ", ".join(code(text) for text in texts)

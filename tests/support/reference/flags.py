"""The flags of the programs, from the parsers that read them."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

import click

from support.reference.markdown import code, codes, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row = tuple[str, str, str]
_TOLD = re.compile(r"default: |\[[A-Z_]+\]$|\([0-9]+[smh]\)$")
"""The help itself says the default, or which variable of the environment gives it."""


def written(rows: Iterable[Row]) -> str:
    """Write flags as a table."""
    return table(("flag", "default", "what it does"), rows)


def of_argparse(parser: argparse.ArgumentParser) -> Iterator[Row]:
    """Yield flag, default and help of each argument."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list what was declared
        if isinstance(action, argparse._HelpAction):  # noqa: SLF001 - the same
            continue
        names = codes(action.option_strings) or code(action.dest.upper())
        said = action.help or ""
        if action.choices:
            said = f"{said}: {codes(map(str, action.choices))}"
        yield names, "" if _TOLD.search(action.help or "") else _default(action.default), said


def of_click(command: click.Command) -> Iterator[Row]:
    """Yield the same of each option, with its variables of the environment."""
    for option in reversed(command.params):
        if not isinstance(option, click.Option):
            continue
        given = option.envvar or ()
        names = [given] if isinstance(given, str) else list(given)
        default = option.default if isinstance(option.default, (int, str)) else ""
        said = f"{option.help} Environment: {codes(names)}." if names else str(option.help)
        yield codes(option.opts), _default(default), said


def _default(value: Any) -> str:  # noqa: ANN401 - whatever a parser takes
    return code(str(value)) if value not in (None, False, "", []) else ""

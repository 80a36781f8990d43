"""How moments and verdicts look: at most 100 columns, colour on a terminal only."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from examples.demo.objects import What

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from examples.demo.story import Moment
    from examples.demo.verdict import Row

WIDTH = 100
_SUBJECT = 32
_CLAIM = 54
_COLOURS = {
    What.CREATED: "2",
    What.READY: "32",
    What.REFUSED: "31",
    What.DELETING: "33",
    What.WAITS: "35",
    What.STAGE: "34",
    What.FREE: "36",
    What.GONE: "1",
}
_WHAT = max(len(what.value) for what in What)


@dataclass(frozen=True, slots=True)
class Style:
    """Whether to use colour."""

    colour: bool = False

    def paint(self, text: str, code: str) -> str:
        """Return the text in an SGR colour, or as it is."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def wants_colour(environment: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether to use colour: on a terminal that can, unless NO_COLOR is set to anything (no-color.org)."""
    return terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def moment_lines(moment: Moment, since: float, style: Style) -> list[str]:
    """Render one moment, its time in seconds after `since`; a long reason continues below itself."""
    subject = f"{moment.thing.kind} {moment.label}"
    margin = f"{moment.time - since:7.1f}s  {subject:{_SUBJECT}}  "
    indent = len(margin) + _WHAT + 2
    what = style.paint(f"{moment.what.value:{_WHAT}}", _COLOURS[moment.what])
    return hanging_lines(f"{margin}{what}  ", moment.why, indent)


def verdict_lines(rows: Iterable[Row], since: float, style: Style) -> list[str]:
    """Render the verdict, times in seconds after `since`, `#` before the server's versions."""
    lines = []
    for row in rows:
        mark = style.paint("ok  ", "32") if row.holds else style.paint("FAIL", "1;31")
        detail = row.detail
        if row.went:
            earlier, later = (f"{each.time - since:.1f}s #{each.version}" for each in row.went)
            detail = f"{earlier} {'before' if row.holds else 'NOT before'} {later}"
        lines += hanging_lines(f"  {mark}  {row.claim:{_CLAIM}}", detail, 8 + _CLAIM)
    return lines


def quoted_lines(text: str) -> list[str]:
    """Render what a program printed, long lines wrapped."""
    return [f"  {part}" for line in text.strip().splitlines() for part in _wrap(line, WIDTH - 2) or [""]]


def command_lines(text: str) -> list[str]:
    """Render a command as a shell takes it, a long one over several lines."""
    if len(text) <= WIDTH - 2:
        return [f"$ {text}"]
    parts = [f"{part} |" for part in text.split(" | ")]
    lines = [line for part in parts for line in _continued(part)]
    return [f"$ {lines[0]}", *(f"    {line}" for line in lines[1:-1]), f"    {lines[-1].removesuffix(' |')}"]


def _continued(part: str) -> list[str]:
    *lines, last = _wrap(part, WIDTH - 6)
    return [*(f"{line} \\" for line in lines), last]


def hanging_lines(margin: str, text: str, indent: int = 0) -> list[str]:
    """Render a text behind a margin, continued below itself; a margin in colour needs its width said."""
    indent = indent or len(margin)
    first, *more = _wrap(text, WIDTH - indent) or [""]
    return [f"{margin}{first}".rstrip(), *(f"{'':{indent}}{line}" for line in more)]


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


class Screen:
    """Writes to a stream, line by line."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Take the stream, by default stdout; whether it gets colour depends on it and on the environment."""
        self._stream = stream or sys.stdout
        self.style = Style(wants_colour(os.environ, terminal=self._stream.isatty()))
        self._parts = 0

    def say(self, *lines: str) -> None:
        """Write lines at once, so that a pipe is live too."""
        self._stream.write("".join(f"{line}\n" for line in lines))
        self._stream.flush()

    def title(self, text: str) -> None:
        """Begin a part, numbered."""
        self._parts += 1
        self.say("", self.style.paint(f"{self._parts}. {text}", "1"))

    def command(self, text: str) -> None:
        """Show a command as a user types it."""
        self.say(*(self.style.paint(line, "1;34") for line in command_lines(text)))

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Say what begins, and how long it took when it has ended."""
        started = time.monotonic()
        self.say(f"  {text} ...")
        yield
        self.say(f"{time.monotonic() - started:7.1f}s  done")

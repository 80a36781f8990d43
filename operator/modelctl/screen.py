"""What changes while a command waits: redrawn in place on a terminal, a line for each change elsewhere.

Names and messages come from the cluster. They are drawn without control characters, so that none can move the
cursor or say something in our name.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

_UP, _CLEAR = "\x1b[{}A", "\x1b[J"


class Screen:
    """Draws progress on a stream, stderr unless told otherwise."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Look once whether the stream is a terminal that can redraw."""
        self._stream = stream or sys.stderr
        self.live = self._stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn: Sequence[str] = ()
        self._height = 0

    def show(self, lines: Sequence[str]) -> None:
        """Draw these lines in the place of those before; without a terminal write those that are new."""
        lines = [printable(line) for line in lines]
        if self.live:
            self._redraw(lines)
        else:
            for line in lines:
                if line not in self._drawn:
                    self._stream.write(line + "\n")
        self._drawn = lines
        self._stream.flush()

    def finish(self) -> None:
        """Leave what is drawn and go on below it."""
        self._height, self._drawn = 0, ()

    def _redraw(self, lines: Sequence[str]) -> None:
        size = shutil.get_terminal_size()
        fitting = [line[: size.columns - 1] for line in lines][: max(size.lines - 1, 1)]
        up = _UP.format(self._height) if self._height else ""
        self._stream.write(up + "\r" + _CLEAR + "".join(line + "\n" for line in fitting))
        self._height = len(fitting)


def printable(text: str) -> str:
    """Return a text without anything that a terminal would act on."""
    return "".join(character if character.isprintable() else "?" for character in text)

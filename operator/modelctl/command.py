"""What a subcommand is. Each has a file in `commands` and a row in the table there."""

import argparse
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from modelctl.exits import Exit
from modelctl.screen import Screen

Run = Callable[[argparse.Namespace, Screen], Coroutine[None, None, Exit]]


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand: its words, such as `releases delete`, its arguments, and what it does.

    `run` may raise CommandError; anything else that it raises is a fault of ours.
    """

    words: tuple[str, ...]
    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Run

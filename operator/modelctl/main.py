"""From the command line to an exit code."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from modelctl.commands import COMMANDS, GROUPS
from modelctl.exits import CommandError, Exit, table
from modelctl.screen import Screen, printable

if TYPE_CHECKING:
    from modelctl.command import Command

_PLUGIN = "kubectl-modelctl"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to read more."""
        raise CommandError(Exit.USAGE, f"{message}; see `{self.prog} --help`")


def parser(program: str) -> Parser:
    """Build the command line of the table of commands."""
    top = Parser(
        prog=program,
        description="LLM servers on Kubernetes: what is there, and taking it down in order.",
        epilog=f"exit codes:\n{table()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    first = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    groups: dict[str, argparse._SubParsersAction[Parser]] = {}
    for command in COMMANDS:
        within = first
        *group, word = command.words
        for name in group:
            if name not in groups:
                made = first.add_parser(name, help=GROUPS[name], description=GROUPS[name])
                groups[name] = made.add_subparsers(title="commands", required=True, metavar="COMMAND")
            within = groups[name]
        one = within.add_parser(word, help=command.help, description=command.help)
        command.arguments(one)
        one.set_defaults(command=command)
    return top


def run(arguments: Sequence[str], program: str = "modelctl") -> int:
    """Run one command line; return the exit code."""
    try:
        options = parser(program).parse_args(arguments)
        command: Command = options.command
        return int(asyncio.run(command.run(options, Screen())))
    except CommandError as error:
        _complain(str(error))
        return int(error.code)
    except KeyboardInterrupt:
        _complain("interrupted; what was asked for goes on")
        return int(Exit.INTERRUPTED)
    except BrokenPipeError:  # `modelctl ... | head`: nobody reads on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.FAILED)


def _complain(message: str) -> None:
    sys.stderr.write(f"error: {printable(message)}\n")


def main() -> NoReturn:
    """Run the process's command line."""
    name = Path(sys.argv[0]).name
    program = "kubectl modelctl" if name == _PLUGIN else "modelctl"
    raise SystemExit(run(sys.argv[1:], program))

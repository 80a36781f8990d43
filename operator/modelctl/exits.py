"""Exit codes, and the error that carries one. Pure."""

from collections.abc import Mapping
from enum import IntEnum


class Exit(IntEnum):
    """What the process ends with."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    TIMED_OUT = 4
    DENIED = 5
    CONFLICT = 6
    UNREACHABLE = 7
    INTERRUPTED = 130


MEANINGS: Mapping[Exit, str] = {
    Exit.DONE: "done; with --wait: gone, with its pods; doctor: healthy",
    Exit.FAILED: "it was tried and failed, as when helm could not uninstall; doctor: there are findings",
    Exit.USAGE: "the command line or a file is wrong; doctor: it cannot look",
    Exit.NOT_FOUND: "there is nothing of that name",
    Exit.TIMED_OUT: "--timeout is over and it goes on; the command may be repeated",
    Exit.DENIED: "the token is missing, not accepted, or may not do this",
    Exit.CONFLICT: "something else is in progress, or uses it; try again later",
    Exit.UNREACHABLE: "the server does not answer",
    Exit.INTERRUPTED: "interrupted; what was asked for goes on in the cluster",
}


class CommandError(Exception):
    """Why a command ends: one line for people, and the exit code."""

    def __init__(self, code: Exit, message: str) -> None:
        """Make one line of the message."""
        super().__init__(" ".join(message.split()))
        self.code = code


def table() -> str:
    """Return the exit codes as the help prints them."""
    return "\n".join(f"  {int(code):<4} {meaning}" for code, meaning in MEANINGS.items())

"""Waits on the command line, in Go's syntax."""

import argparse
from datetime import timedelta

from llm_operator.durations import DurationError, parse_wait


def wait(text: str) -> timedelta:
    """Read a wait such as 1h30m; argparse tells what is wrong with another text."""
    try:
        return parse_wait(text)
    except DurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def seconds(text: str) -> float:
    """Read a wait as seconds."""
    return wait(text).total_seconds()


def timeout_argument(parser: argparse.ArgumentParser) -> None:
    """Add how long a deletion is watched, in seconds."""
    parser.add_argument("--timeout", type=seconds, default="1h", help="give up watching after this (1h)")

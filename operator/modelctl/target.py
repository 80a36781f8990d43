"""Which release a command is about, and in which form it answers."""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from modelctl.exits import CommandError, Exit
from modelctl.screen import printable

Key = tuple[str, str]
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def name_argument(parser: argparse.ArgumentParser) -> None:
    """Add the name and its namespace."""
    parser.add_argument("name", help="the release, or NAMESPACE/RELEASE")
    namespace_argument(parser)


def namespace_argument(parser: argparse.ArgumentParser) -> None:
    """Add the namespace."""
    parser.add_argument("-n", "--namespace", help="default: the kubeconfig's, else `default`")


def output_argument(parser: argparse.ArgumentParser) -> None:
    """Add the form of the answer."""
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="form of the answer")


def key(options: argparse.Namespace) -> Key:
    """Return namespace and name; raises CommandError."""
    namespace, slash, name = options.name.rpartition("/")
    if slash and options.namespace and options.namespace != namespace:
        raise CommandError(
            Exit.USAGE, f"{options.name} and --namespace {options.namespace} contradict each other"
        )
    found = (namespace or options.namespace or own_namespace(options.kubeconfig), name)
    for part in found:
        if not _NAME.fullmatch(part):
            raise CommandError(Exit.USAGE, f"{part!r} is no name of a namespace or release")
    return found


def own_namespace(kubeconfig: str | None) -> str:
    """Return the namespace of the kubeconfig's current context, as kubectl does."""
    path = Path(kubeconfig or os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config")
    try:
        config = yaml.safe_load(path.read_text("utf-8"))
        current = config["current-context"]
        context = next(c["context"] for c in config["contexts"] if c["name"] == current)
        return str(context.get("namespace") or "default")
    except (OSError, yaml.YAMLError, LookupError, TypeError, StopIteration, UnicodeDecodeError):
        return "default"


def answer(options: argparse.Namespace, body: Any, lines: Iterable[str]) -> None:  # noqa: ANN401 - whatever JSON takes
    """Print an answer to stdout: the body as JSON, or the lines."""
    if options.output == "json":
        sys.stdout.write(json.dumps(body, indent=2, sort_keys=True) + "\n")
        sys.stdout.flush()
    else:
        write(lines)


def write(lines: Iterable[str]) -> None:
    """Print lines to stdout."""
    sys.stdout.write("".join(printable(line) + "\n" for line in lines))
    sys.stdout.flush()

"""The command line behind `make up`, `make down` and `make kubeconfig`."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from controlplane.catalog import TESTS_ONLY
from controlplane.errors import ControlPlaneError
from controlplane.options import Options
from controlplane.plane import Plane
from controlplane.toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Presets: dict[str, Callable[[], Options]] = {
    "full": Options,
    "kubernetes": Options.kubernetes,
    "pods": Options.with_pods,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parsed = _parser().parse_args(arguments)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "build": _build,
        "up": _up,
        "down": _down,
        "kubeconfig": _kubeconfig,
        "status": _status,
        "exec": _exec,
    }
    try:
        return commands[parsed.command](parsed)
    except ControlPlaneError as error:
        _note(f"error: {error}")
        return 1


def _say(line: object) -> None:
    sys.stdout.write(f"{line}\n")


def _note(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m controlplane", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build all programs into the cache")
    texts = {
        "up": "start a control plane that lives on until `down`",
        "down": "stop it; nothing is left",
        "kubeconfig": "print the path of the administrator's kubeconfig",
        "status": "list its components",
        "exec": "run a command inside its namespaces, KUBECONFIG set",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--name", default="default", help="which control plane (default: %(default)s)")
        if name == "up":
            command.add_argument("--preset", choices=Presets, default="full", help="what runs in it")
        if name == "exec":
            command.add_argument("argv", nargs=argparse.REMAINDER, help="the command")
    return parser


def _build(_parsed: argparse.Namespace) -> int:
    for program, path in Toolbox.ready(also=TESTS_ONLY).programs.items():
        _say(f"{program:24} {path}")
    return 0


def _up(parsed: argparse.Namespace) -> int:
    try:
        plane = Plane.attach(parsed.name)
    except ControlPlaneError:
        started = time.monotonic()
        plane = Plane.up(parsed.name, Presets[parsed.preset]())
        plane.detach()
        _note(f"up in {time.monotonic() - started:.0f} s")
    _say(f"export KUBECONFIG={plane.kubeconfig}")
    return 0


def _down(parsed: argparse.Namespace) -> int:
    try:
        plane = Plane.attach(parsed.name)
    except ControlPlaneError:
        _note(f"no control plane named {parsed.name!r} is up")
        return 0
    plane.close("none")
    return 0


def _kubeconfig(parsed: argparse.Namespace) -> int:
    _say(Plane.attach(parsed.name).kubeconfig)
    return 0


def _status(parsed: argparse.Namespace) -> int:
    plane = Plane.attach(parsed.name)
    report = plane.status()
    _say(f"{plane.name}: {plane.server}, logs in {plane.state.folder / 'logs'}")
    for component, state in report.items():
        _say(f"  {component:24} {state['state']:8} pid {state['pid']}, code {state['code']}")
    return 0 if all(state["state"] == "running" for state in report.values()) else 1


def _exec(parsed: argparse.Namespace) -> int:
    argv = parsed.argv[1:] if parsed.argv[:1] == ["--"] else parsed.argv
    if not argv:
        raise ControlPlaneError("exec needs a command: python -m controlplane exec -- kubectl get nodes")
    return Plane.attach(parsed.name).interactive(argv)

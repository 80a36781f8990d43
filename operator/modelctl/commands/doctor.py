"""`modelctl doctor`: what is wrong with the installation and its clusters, and what to run."""

import argparse
import os
import shlex
from dataclasses import replace

from modelctl import cluster, target, waits
from modelctl.command import Command
from modelctl.doctor.examine import Found, body, examine, lines
from modelctl.exits import CommandError, Exit
from modelctl.screen import Screen
from modelctl.snapshot.read import Reader


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    add = parser.add_argument
    add("--older-than", type=waits.wait, default="5m", help="a deletion of this age is stuck (5m)")
    add("--kubeconfig", help="file to reach Kubernetes [KUBECONFIG]")
    target.output_argument(parser)


async def run(options: argparse.Namespace, _screen: Screen) -> Exit:
    """Look once; nothing is changed."""
    try:
        async with cluster.connected(options.kubeconfig or os.environ.get("KUBECONFIG")) as kube:
            snapshot = await Reader(kube).read()
    except CommandError as error:
        raise CommandError(Exit.USAGE, f"cannot look: {error}") from None
    if not snapshot.objects or len(snapshot.unread) == len(snapshot.objects):
        raise CommandError(
            Exit.USAGE, f"cannot look: {next(iter(snapshot.unread.values()), 'nothing is served')}"
        )
    found = [_aimed(one, options.kubeconfig) for one in examine(snapshot, options.older_than)]
    target.answer(options, body(snapshot, found), lines(snapshot, found))
    if found:
        return Exit.FAILED
    return Exit.USAGE if snapshot.unread else Exit.DONE


def _aimed(one: Found, kubeconfig: str | None) -> Found:
    """Name the kubeconfig in the command where it was named in ours."""
    name, finding = one
    if not kubeconfig or not finding.command.startswith("kubectl "):
        return one
    command = f"kubectl --kubeconfig={shlex.quote(kubeconfig)} {finding.command.removeprefix('kubectl ')}"
    return name, replace(finding, command=command)


COMMAND = Command(("doctor",), "say what is wrong with the installation, and what to run", arguments, run)

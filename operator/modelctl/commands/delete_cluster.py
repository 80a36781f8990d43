"""`modelctl delete cluster`: the right delete of an InferenceCluster, watched until all of it is gone."""

import argparse
import asyncio
import os
import sys

from modelctl import cluster, waits
from modelctl.command import Command
from modelctl.exits import CommandError, Exit
from modelctl.screen import Screen, printable
from modelctl.teardown.deletion import Deletion


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("name", help="the InferenceCluster")
    waits.timeout_argument(parser)
    parser.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG"), help="[KUBECONFIG]")


async def run(options: argparse.Namespace, screen: Screen) -> Exit:
    """Delete it in foreground and wait."""
    async with cluster.connected(options.kubeconfig) as kube:
        deletion = Deletion(kube, options.name, screen)
        try:
            async with asyncio.timeout(options.timeout):
                await deletion.run()
        except TimeoutError:
            raise CommandError(Exit.TIMED_OUT, f"{deletion.said}; it goes on: repeat to watch it") from None
        finally:
            screen.finish()
    sys.stdout.write(f"InferenceCluster {printable(options.name)} is gone\n")
    return Exit.DONE


COMMAND = Command(("delete", "cluster"), "delete an InferenceCluster, and watch it go", arguments, run)

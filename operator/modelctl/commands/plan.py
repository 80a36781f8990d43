"""`modelctl plan`: the order up and down of a cluster, from its manifest or as it is on the server."""

import argparse
import os
from collections.abc import Callable, Mapping

from modelctl.command import Command
from modelctl.exits import CommandError, Exit
from modelctl.order import documents, live, mermaid, svg, text
from modelctl.order.assemble import assemble
from modelctl.order.graph import Graph, LoopError
from modelctl.order.simulate import simulate
from modelctl.screen import Screen
from modelctl.target import write

Draw = Callable[[Graph], list[str]]
_PICTURES: Mapping[str, Draw] = {"mermaid": mermaid.draw, "svg": svg.draw}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "-f", "--file", action="append", metavar="FILE", help="manifests: a file, a folder or -"
    )
    what.add_argument("--live", metavar="NAME", help="the InferenceCluster of that name as it is now")
    forms = ("text", *_PICTURES)
    parser.add_argument("-o", "--output", choices=forms, default="text", help="form of the answer")
    parser.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG"), help="for --live [KUBECONFIG]")


async def run(options: argparse.Namespace, _screen: Screen) -> Exit:
    """Draw the order."""
    if options.live:
        graph, draw = await live.read(options.kubeconfig, options.live), text.live
    else:
        graph, draw = await _simulated(documents.read(options.file)), text.plan
    try:
        write(_PICTURES.get(options.output, draw)(graph))
    except LoopError as error:
        raise CommandError(Exit.FAILED, str(error)) from None
    return Exit.DONE


async def _simulated(found: list[documents.Manifest]) -> Graph:
    world = await simulate(documents.composite(found), found)
    return assemble(world.root, world.things.values())


COMMAND = Command(("plan",), "show in which order a cluster comes up and goes, and why", arguments, run)

"""`modelctl releases list`."""

import argparse

from modelctl import login, target, views
from modelctl.command import Command
from modelctl.exits import Exit
from modelctl.screen import Screen
from modelctl.server import Server


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    parser.add_argument("-n", "--namespace", help="this namespace only; default: all that you may see")
    target.output_argument(parser)
    login.arguments(parser)


async def run(options: argparse.Namespace, _screen: Screen) -> Exit:
    """List the releases; none is no error."""
    async with Server(await login.login(options)) as server:
        rows = await server.releases()
    rows = [row for row in rows if options.namespace in (None, row.get("namespace"))]
    target.answer(options, {"items": rows}, views.listing(rows) if rows else ["no releases"])
    return Exit.DONE


COMMAND = Command(("releases", "list"), "list the releases, those that uninstall too", arguments, run)

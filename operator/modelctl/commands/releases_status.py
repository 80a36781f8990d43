"""`modelctl releases status`."""

import argparse

from modelctl import login, target, views
from modelctl.command import Command
from modelctl.exits import Exit
from modelctl.screen import Screen
from modelctl.server import Server


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    target.name_argument(parser)
    target.output_argument(parser)
    login.arguments(parser)


async def run(options: argparse.Namespace, _screen: Screen) -> Exit:
    """Show one release."""
    key = target.key(options)
    async with Server(await login.login(options)) as server:
        release = await server.release(key)
    target.answer(options, release, views.status(release))
    return Exit.DONE


COMMAND = Command(("releases", "status"), "show one release", arguments, run)

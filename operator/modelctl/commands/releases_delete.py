"""`modelctl releases delete`: asks for the uninstall and shows what it waits for.

The uninstall belongs to the server from the first call on: whatever ends this process, it goes on there, and
the same command takes up watching it.
"""

import argparse
import asyncio
import contextlib
from datetime import UTC, datetime

from modelctl import login, target, views, waits
from modelctl.command import Command
from modelctl.exits import CommandError, Exit
from modelctl.screen import Screen
from modelctl.server import Body, Server
from modelctl.target import Key

POLL = 1.0
PATIENCE = 5
"""Looks: another replica of the server learns of the uninstall from its watch, a moment later."""
UNINSTALLING, FAILED = "uninstalling", "failed"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    target.name_argument(parser)
    parser.add_argument("--wait", action="store_true", help="return when it is gone, with its pods")
    waits.timeout_argument(parser)
    target.output_argument(parser)
    login.arguments(parser)


async def run(options: argparse.Namespace, screen: Screen) -> Exit:
    """Uninstall one release; with --wait until it is gone."""
    key = target.key(options)
    async with Server(await login.login(options)) as server:
        watch = _Watch(server, key, screen)
        try:
            async with asyncio.timeout(options.timeout):
                outcome = await watch.delete(options.timeout)
                if outcome.get("phase") == FAILED:
                    target.answer(options, outcome, ())
                    raise CommandError(Exit.FAILED, f"{watch.name}: {outcome.get('output') or 'failed'}")
                if options.wait:
                    await watch.until_gone()
                    outcome = {**outcome, "phase": views.GONE}
        except TimeoutError:
            raise CommandError(Exit.TIMED_OUT, f"{watch.said}; it goes on: repeat to watch it") from None
        finally:
            screen.finish()
    target.answer(options, outcome, [_line(watch.name, outcome)])
    return Exit.DONE


def _line(name: str, outcome: Body) -> str:
    if outcome["phase"] == views.GONE:
        return f"{name} is gone"
    return f"{name}: {outcome['phase']}: {outcome.get('output', '')}".rstrip(": ")


class _Watch:
    """One release while it uninstalls."""

    def __init__(self, server: Server, key: Key, screen: Screen) -> None:
        self._server, self._key, self._screen = server, key, screen
        self.name = "/".join(key)
        self.said = f"{self.name}: the server has not answered yet"
        self._strange = 0

    async def delete(self, seconds: float) -> Body:
        """Ask for the uninstall, and show what goes on while helm works: it answers when helm has ended."""
        asking = asyncio.create_task(self._server.delete(self._key, seconds + 1))
        try:
            while not (await asyncio.wait({asking}, timeout=POLL))[0]:
                with contextlib.suppress(CommandError):
                    self._show(await self._server.release(self._key))
            return await asking
        finally:
            asking.cancel()

    async def until_gone(self) -> None:
        """Look every second until it is not listed any more; a server that is away is waited for."""
        while True:
            try:
                release = await self._server.release(self._key)
            except CommandError as error:
                if error.code is Exit.NOT_FOUND:
                    return
                if error.code is not Exit.UNREACHABLE:
                    raise
                self._screen.show([f"{self.name}: {error}; still trying"])
            else:
                self._show(release)
                self._check(release)
            await asyncio.sleep(POLL)

    def _check(self, release: Body) -> None:
        phase = release.get("phase")
        if phase == FAILED:
            raise CommandError(
                Exit.FAILED, f"{self.name}: {release.get('message') or 'the uninstall failed'}"
            )
        self._strange = 0 if phase == UNINSTALLING else self._strange + 1
        if self._strange >= PATIENCE:
            raise CommandError(
                Exit.CONFLICT, f"{self.name} is there again: {phase}, installed by somebody else"
            )

    def _show(self, release: Body) -> None:
        now = datetime.now(UTC) if self._screen.live else None
        self._screen.show(views.progress(release, now))
        self.said = "; ".join(line.strip() for line in views.progress(release))


COMMAND = Command(("releases", "delete"), "uninstall a release, and watch it go", arguments, run)

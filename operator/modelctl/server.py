"""The release API as modelctl uses it: three calls, each bounded, each failure a CommandError."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import aiohttp

from modelctl.exits import CommandError, Exit
from modelctl.login import Login

Body = Mapping[str, Any]
SECONDS = 30.0
"""Bound of a read. A DELETE answers when helm has ended, so its bound is the caller's."""
_CODES: Mapping[int, Exit] = {
    HTTPStatus.UNAUTHORIZED: Exit.DENIED,
    HTTPStatus.FORBIDDEN: Exit.DENIED,
    HTTPStatus.NOT_FOUND: Exit.NOT_FOUND,
    HTTPStatus.CONFLICT: Exit.CONFLICT,
    HTTPStatus.TOO_MANY_REQUESTS: Exit.UNREACHABLE,
    HTTPStatus.BAD_GATEWAY: Exit.UNREACHABLE,
    HTTPStatus.SERVICE_UNAVAILABLE: Exit.UNREACHABLE,
    HTTPStatus.GATEWAY_TIMEOUT: Exit.UNREACHABLE,
}


class Server:
    """A connection to the release API, as a context manager."""

    def __init__(self, login: Login) -> None:
        """Remember the login; nothing is opened yet."""
        self._login = login
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the connections."""
        self._session = aiohttp.ClientSession(trust_env=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def releases(self) -> list[Body]:
        """Return the rows of all releases that we may see."""
        return list((await self._call("GET", "/api/deployments"))["items"])

    async def release(self, key: tuple[str, str]) -> Body:
        """Return one release."""
        return await self._call("GET", _path(key))

    async def delete(self, key: tuple[str, str], seconds: float) -> Body:
        """Uninstall a release; helm's answers when helm has ended."""
        return await self._call("DELETE", _path(key), seconds)

    async def _call(self, verb: str, path: str, seconds: float = SECONDS) -> Body:
        if self._session is None:
            raise RuntimeError("the server is used outside of its block")
        bound = aiohttp.ClientTimeout(total=seconds, connect=min(seconds, 10.0))
        tls = self._login.tls if self._login.tls is not None else True
        where = self._login.server
        headers = {"Authorization": f"Bearer {self._login.token()}", "Accept": "application/json"}
        try:
            request = self._session.request(
                verb, where + path, headers=headers, timeout=bound, ssl=tls, allow_redirects=False
            )
            async with request as answer:
                status, text = answer.status, await answer.text(errors="replace")
        except TimeoutError:
            raise CommandError(Exit.UNREACHABLE, f"{where} did not answer within {seconds:g} s") from None
        except aiohttp.ClientError as error:
            raise CommandError(Exit.UNREACHABLE, f"{where} cannot be reached: {error}") from None
        return _read(where, status, text)


def _path(key: tuple[str, str]) -> str:
    return f"/api/releases/{quote(key[0], safe='')}/{quote(key[1], safe='')}"


def _read(where: str, status: int, text: str) -> Body:
    """Read an answer; a problem is raised with its detail and the exit code that goes with its status."""
    try:
        body = json.loads(text)
    except json.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise CommandError(Exit.UNREACHABLE, f"what answers at {where} is no release API (HTTP {status})")
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return body
    said = body.get("detail") or body.get("title") or f"HTTP {status}"
    raise CommandError(_CODES.get(status, Exit.FAILED), str(said))

"""Instant queries of Prometheus's HTTP API. Whatever goes wrong comes back as a Reading that says so.

`/api/v1/query` answers `{status, data: {resultType, result}}`, or `{status: error, errorType, error}` with a
status of 400 and more. A sample is `[time, "number"]`; numbers are texts, `NaN` and `+Inf` among them.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson

from release_api.autoscale.model import Reading

SECONDS = 5.0
"""Bound of one query, as told to Prometheus too, so that nobody goes on computing for nobody."""
LARGEST = 2**20
"""Bytes an answer may have: one number is asked for."""
AT_ONCE = 8
_LONGEST_ERROR = 300


class Prometheus:
    """Asks one Prometheus. The address is the operator's: a policy names a query, never a server."""

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        """Remember the base address; nothing is opened yet."""
        self._url = url.rstrip("/") + "/api/v1/query"
        self._seconds = seconds
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def ask(self, query: str) -> Reading:
        """Evaluate a query now. Never raises; never longer than the bound, the wait for a turn apart."""
        form = {"query": query, "timeout": f"{self._seconds:g}s"}
        try:
            async with self._turns, asyncio.timeout(self._seconds):
                status, body = await self._post(form)
        except TimeoutError:
            return Reading(error=f"Prometheus did not answer within {self._seconds:g} s")
        except aiohttp.ClientError as error:
            return Reading(error=_short(f"Prometheus cannot be reached: {type(error).__name__}: {error}"))
        return read(status, body)

    async def _post(self, form: Mapping[str, str]) -> tuple[int, bytes]:
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False)
        # A redirect would take the query to a server that nobody configured.
        async with self._session.post(self._url, data=form, allow_redirects=False) as answer:
            body = bytearray()
            async for chunk in answer.content.iter_any():
                body += chunk
                if len(body) > LARGEST:
                    break
            return answer.status, bytes(body)


def read(status: int, body: bytes) -> Reading:
    """Read an answer. Pure: what a server sends is either understood whole or an error."""
    if len(body) > LARGEST:
        return Reading(error=f"Prometheus answered more than {LARGEST} bytes: make the query one series")
    try:
        answer = orjson.loads(body)
        if answer["status"] != "success":
            return Reading(error=_short(f"Prometheus refused the query: {answer['error']}"))
        return _reading(answer["data"])
    except (orjson.JSONDecodeError, LookupError, TypeError, ValueError):
        return Reading(error=f"what answered (HTTP {status}) is no Prometheus, or not one that we understand")


def _reading(data: Mapping[str, Any]) -> Reading:
    kind, result = data["resultType"], data["result"]
    if kind == "scalar":
        return Reading((_number(result),))
    if kind != "vector":
        return Reading(error=f"the query returns a {kind}: make it one number")
    if any("histogram" in series for series in result):
        return Reading(error="the query returns a histogram: make it one number")
    return Reading(tuple(_number(series["value"]) for series in result))


def _number(sample: Any) -> float:  # noqa: ANN401 - JSON, checked here
    _moment, text = sample
    if not isinstance(text, str):
        raise TypeError(text)
    return float(text)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_ERROR else line[:_LONGEST_ERROR] + "..."

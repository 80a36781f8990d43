"""The API server: get, list, watch, create, patch with preconditions, delete.

Answers are read as raw JSON: building the official client's generated model classes costs many times what
parsing does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import NamedTuple, cast

import aiohttp
import orjson

from llm_operator.connection import ConfigError, Connection
from llm_operator.resources import Obj, Ref, Resource, Selection

Body = Obj | list[Obj] | None
OnError = Callable[[str, int], None]

JSON = "application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

TIMEOUT = aiohttp.ClientTimeout(total=30, connect=5)
"""Bound of one call. A watch has its own: no bookmark for two minutes means a dead stream."""
WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=5, sock_read=120)
WATCH_SECONDS = 300
BUSY_RETRIES = 3
BUSY_WAIT = 5.0
"""A 429 was not processed, so any call may be repeated.

So often, and after Retry-After but at most so many seconds.
"""
PAGE = 250
"""Objects of one list call: each is some 10 KiB once it is parsed."""
CALLS = 40
"""Calls at the same time: each costs a TLS connection of some 300 KiB, and the server sets the pace anyway.

The wait for a turn has no clock: with thousands of objects it would run out before the call began.
"""
MAX_LINE = 32 * 2**20
OPENED = "OPENED"
"""The type of the event that `watch` puts before the server's own: the stream stands."""


class ApiError(Exception):
    """A call failed. `status` is the HTTP status, 0 when there was no answer."""

    def __init__(self, status: int, message: str, body: Obj | None = None) -> None:
        """Keep the server's Status object, if it sent one."""
        super().__init__(message)
        self.status, self.body = status, body or {}

    @property
    def object_missing(self) -> bool:
        """Whether the server looked for one object and did not find it (its kind is there)."""
        return self.status == HTTPStatus.NOT_FOUND and bool((self.body.get("details") or {}).get("name"))

    @property
    def raced(self) -> bool:
        """Whether a precondition failed: 409, or 422 from a JSON patch whose `test` does not hold."""
        return self.status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)


class Page(NamedTuple):
    """A part of a collection, and the resourceVersion to watch the whole from."""

    objects: list[Obj]
    version: str


class Kube:
    """A connection to one API server.

    Every method raises ApiError, and only that, when the server does not comply.
    """

    def __init__(self, connection: Connection, on_error: OnError | None = None) -> None:
        """Take a connection; `on_error` is told verb and status of every failed call, for metrics."""
        self._connection = connection
        self._on_error = on_error or (lambda _verb, _status: None)
        self._turns = asyncio.Semaphore(CALLS)

    @classmethod
    async def connect(cls, kubeconfig: str | None, on_error: OnError | None = None) -> "Kube":
        """Connect with a kubeconfig file, or as the pod's service account when there is none.

        Raises ApiError.
        """
        try:
            return cls(await Connection.open(kubeconfig), on_error)
        except ConfigError as error:
            raise ApiError(0, f"no API server to talk to: {error}") from error

    async def close(self) -> None:
        """Close the pool."""
        await self._connection.close()

    async def own_token(self) -> str:
        """Return the bearer token that our calls carry, empty where we log in otherwise."""
        return await self._connection.token()

    async def get(self, ref: Ref) -> Obj:
        """Read one object."""
        return await self._call("GET", ref.path())

    async def get_path(self, path: str) -> Obj:
        """Read a path that is no object, such as discovery's."""
        return await self._call("GET", path)

    async def create(self, resource: Resource, body: Obj) -> Obj:
        """Create an object; 409 when its name is taken."""
        return await self._call("POST", resource.path(body["metadata"].get("namespace")), body)

    async def create_at(self, path: str, body: Obj) -> Obj:
        """Create what has a path of its own, such as a token of a service account."""
        return await self._call("POST", path, body)

    async def merge(self, ref: Ref, body: Obj, subresource: str | None = None) -> Obj:
        """Patch by JSON merge. A `metadata.resourceVersion` in the body makes it conditional.

        409 when outdated.
        """
        return await self._call("PATCH", ref.path(subresource), body, content=MERGE_PATCH)

    async def json_patch(self, ref: Ref, operations: Sequence[Obj]) -> Obj:
        """Patch by JSON patch; 422 when one of its `test` operations does not hold."""
        return await self._call("PATCH", ref.path(), list(operations), content=JSON_PATCH)

    async def replace(self, ref: Ref, body: Obj) -> Obj:
        """Write a whole object; its resourceVersion must be current (409)."""
        return await self._call("PUT", ref.path(), body)

    async def delete(
        self, ref: Ref, *, uid: str | None = None, version: str | None = None, grace: int | None = None
    ) -> Obj:
        """Delete an object.

        With `uid` only that one (409 for a successor), with `version` only as it was read (409 when it has
        changed), with `grace` in so many seconds.
        """
        options: Obj = {"kind": "DeleteOptions", "apiVersion": "v1"}
        wanted = {"uid": uid, "resourceVersion": version}
        preconditions = {key: value for key, value in wanted.items() if value is not None}
        options |= {"preconditions": preconditions} if preconditions else {}
        options |= {"gracePeriodSeconds": grace} if grace is not None else {}
        return await self._call("DELETE", ref.path(), options)

    async def delete_in_foreground(self, ref: Ref, uid: str) -> Obj:
        """Delete an object after all that it owns; only that one (409 for a successor)."""
        options: Obj = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
        return await self._call("DELETE", ref.path(), options | {"preconditions": {"uid": uid}})

    async def list(self, selection: Selection) -> tuple[list[Obj], str]:
        """Read a whole collection; return its objects and the resourceVersion to watch from."""
        items: list[Obj] = []
        version = ""
        async for page in self.pages(selection):
            items += page.objects
            version = page.version
        return items, version

    async def pages(self, selection: Selection) -> AsyncIterator[Page]:
        """Yield a collection page by page."""
        token, more = "", True
        while more:
            query = selection.query({"limit": str(PAGE), "continue": token})
            accept = METADATA_LIST if selection.metadata_only else JSON
            page = await self._call("GET", query, accept=accept)
            token = page["metadata"].get("continue") or ""
            more = bool(token)
            yield Page(page.pop("items", None) or [], page["metadata"]["resourceVersion"])

    async def watch(self, selection: Selection, version: str) -> AsyncIterator[Obj]:
        """Yield a collection's events from a resourceVersion on, until the server ends the stream.

        Bookmarks are among the events. An ERROR event (410 for an outdated version) is raised as ApiError.
        """
        parameters = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version}
        query = selection.query(parameters | {"timeoutSeconds": str(WATCH_SECONDS)})
        headers = _headers(METADATA if selection.metadata_only else JSON)
        try:
            answer = await self._connection.send("GET", query, headers, None, WATCH_TIMEOUT)
            try:
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    raise self._failure("WATCH", answer.status, await answer.read())
                yield {"type": OPENED}
                async for line in _lines(answer.content):
                    yield _event(line)
            finally:
                answer.close()
        except (aiohttp.ClientError, TimeoutError, OSError, orjson.JSONDecodeError) as error:
            raise self._failure("WATCH", 0, _reason(error)) from error

    async def _call(
        self, verb: str, path: str, body: Body = None, *, content: str = JSON, accept: str = JSON
    ) -> Obj:
        for left in range(BUSY_RETRIES, -1, -1):
            try:
                async with self._turns:
                    answer = await self._connection.send(verb, path, _headers(accept, content), body, TIMEOUT)
                    data = await answer.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise self._failure(verb, 0, _reason(error)) from error
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS and left:
                await asyncio.sleep(min(_retry_after(answer.headers), BUSY_WAIT))
                continue
            break
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise self._failure(verb, answer.status, data)
        return cast("Obj", orjson.loads(data))

    def _failure(self, verb: str, status: int, detail: bytes | str) -> ApiError:
        self._on_error(verb, status)
        if isinstance(detail, str):
            return ApiError(status, f"the API server did not answer: {detail}")
        try:
            body = orjson.loads(detail)
        except orjson.JSONDecodeError:
            body = {"message": detail.decode(errors="replace").strip()[:200]}
        body = body if isinstance(body, dict) else {}
        return ApiError(status, body.get("message") or f"HTTP {status}", body)


@cache
def _headers(accept: str, content: str = JSON) -> Mapping[str, str]:
    return {"Accept": accept, "Content-Type": content, "User-Agent": "llm-operator"}


def _event(line: bytes) -> Obj:
    event = cast("Obj", orjson.loads(line))
    if event.get("type") == "ERROR":
        status = event.get("object") or {}
        raise ApiError(int(status.get("code") or 0), str(status.get("message") or "watch failed"), status)
    return event


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Cut a stream into lines; a line longer than any object can be is a ConnectionError."""
    rest = b""
    async for chunk in stream.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield line
        if len(rest) > MAX_LINE:
            raise ConnectionError("a watch event without end")
    if rest:
        yield rest


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        return max(float(headers.get("Retry-After", "1")), 0.1)
    except ValueError:
        return 1.0


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

"""Reads a snapshot: lists every kind of a table at the same time. The only module here that does I/O."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus

from llm_operator.kube import ApiError, Kube
from llm_operator.resources import Obj, Resource, Selection
from modelctl.snapshot.kinds import TABLE, Row
from modelctl.snapshot.objects import Kind, Snapshot, group

_PASSED_OVER = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


class Reader:
    """Reads snapshots through one connection, and remembers which kinds are served."""

    def __init__(self, kube: Kube, table: Sequence[Row] = TABLE) -> None:
        """Take the connection and what to read."""
        self._kube, self._table = kube, table
        self._plurals: dict[str, Mapping[str, str]] = {}
        self._groups: frozenset[str] = frozenset()

    async def read(self) -> Snapshot:
        """Read everything once; ApiError when the server does not answer."""
        await self._discover()
        found = await asyncio.gather(*(self._list(row) for row in self._table))
        objects: dict[Kind, tuple[Obj, ...]] = {}
        unread: dict[Kind, str] = {}
        for row, (items, refused) in zip(self._table, found, strict=True):
            kind = (group(row.api_version), row.kind)
            if row.kind in self._plurals.get(row.api_version, {}):
                objects[kind] = (*objects.get(kind, ()), *items)
            if refused:
                unread[kind] = refused
        return Snapshot(datetime.now(UTC), objects, self._groups, unread)

    async def _discover(self) -> None:
        if self._plurals:
            return
        groups = (await self._kube.get_path("/apis"))["groups"]
        self._groups = frozenset(one["name"] for one in groups)
        served = {version["groupVersion"] for one in groups for version in one["versions"]} | {"v1"}
        wanted = sorted({row.api_version for row in self._table} & served)
        paths = [f"/apis/{one}" if "/" in one else f"/api/{one}" for one in wanted]
        answers = await asyncio.gather(*(self._kube.get_path(path) for path in paths))
        for api_version, answer in zip(wanted, answers, strict=True):
            resources = (one for one in answer["resources"] if "/" not in one["name"])
            self._plurals[api_version] = {one["kind"]: one["name"] for one in resources}

    async def _list(self, row: Row) -> tuple[list[Obj], str]:
        """Return the objects of a kind, or why they may not be read."""
        plural = self._plurals.get(row.api_version, {}).get(row.kind)
        if plural is None:
            return [], ""
        own_group, _, version = row.api_version.rpartition("/")
        selection = Selection(
            Resource(own_group, version, plural),
            row.namespace or None,
            row.labels,
            metadata_only=row.metadata,
        )
        try:
            items, _ = await self._kube.list(selection)
        except ApiError as error:
            if error.status not in _PASSED_OVER:
                raise
            return [], str(error)
        return [{**item, "apiVersion": row.api_version, "kind": row.kind} for item in items], ""

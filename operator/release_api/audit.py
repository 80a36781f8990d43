"""The audit rows: one ConfigMap a change, in the server's own namespace.

A row is named by a hash of object and event, so that a second write of the same event is a 409 and counts as
done: whichever replica writes it, and however often it restarts, there is one.
"""

import bisect
from collections import deque
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC
from http import HTTPStatus

import orjson
import structlog
from pydantic import ValidationError

from llm_operator.kube import ApiError, Kube
from llm_operator.resources import CONFIGMAPS, Obj, Ref, Selection, key_of
from release_api.models import AuditRow
from release_api.names import AUDIT_LABEL, Key, audit_name

RETENTION = 1000
"""Rows that are kept, the newest."""
PENDING = 1000
"""Rows that wait in memory for a server that does not answer."""


@dataclass(frozen=True, slots=True)
class Event:
    """What names a row: the object (its UID) and what happened to it."""

    uid: str
    name: str


class Audits:
    """The rows that are stored, oldest first, fed by a watch."""

    def __init__(self) -> None:
        """Start empty."""
        self._rows: dict[Key, AuditRow] = {}
        self._order: list[tuple[str, Key]] = []

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._order)

    def newest(self, before: str = "") -> Iterable[tuple[str, AuditRow]]:
        """Yield rows with their position, newest first, from below the position `before` on."""
        end = bisect.bisect_left(self._order, (before,)) if before else len(self._order)
        for moment, key in reversed(self._order[:end]):
            yield moment, self._rows[key]

    def surplus(self) -> list[Key]:
        """Return the rows beyond the retention, oldest first."""
        return [key for _, key in self._order[: max(len(self._order) - RETENTION, 0)]]

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None = None) -> None:
        """Forget rows that went while nobody watched."""
        for key in [key for key in self._rows if key not in keys and namespace in (None, key[0])]:
            self._forget(key)

    def put(self, obj: Obj) -> None:
        """Take a row; one that cannot be read is not shown."""
        key = key_of(obj)
        if key in self._rows:
            return  # Rows are never changed.
        try:
            row = AuditRow.model_validate_json((obj.get("data") or {}).get("row", ""))
        except ValidationError:
            structlog.get_logger().warning("audit row not read", name=key[1])
            return
        self._rows[key] = row
        bisect.insort(self._order, (_position(row), key))

    def drop(self, obj: Obj) -> None:
        """Forget a row."""
        self._forget(key_of(obj))

    def _forget(self, key: Key) -> None:
        row = self._rows.pop(key, None)
        if row is not None:
            self._order.remove((_position(row), key))


def _position(row: AuditRow) -> str:
    return f"{row.at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{row.id}"


class Auditor:
    """Writes rows, and deletes those beyond the retention."""

    def __init__(self, kube: Kube, namespace: str, audits: Audits) -> None:
        """Write into a namespace."""
        self._kube, self._namespace, self._audits = kube, namespace, audits
        self._pending: deque[tuple[Event, AuditRow]] = deque(maxlen=PENDING)
        self._log = structlog.get_logger()

    @property
    def selection(self) -> Selection:
        """Which ConfigMaps are rows."""
        return Selection(CONFIGMAPS, self._namespace, labels=AUDIT_LABEL)

    async def write(self, event: Event, row: AuditRow) -> None:
        """Write a row; one that is there already is done. Raises ApiError."""
        name = audit_name(event.uid, event.name)
        row = row.model_copy(update={"id": name})
        meta = {"name": name, "namespace": self._namespace, "labels": {AUDIT_LABEL: "true"}}
        data = {"row": row.model_dump_json(exclude_none=True)}
        body: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
        try:
            self._audits.put(await self._kube.create(CONFIGMAPS, body))
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise

    async def note(self, event: Event, row: AuditRow) -> None:
        """Write a row, later if not now: the change that it tells of has happened."""
        self._log.info("change", **orjson.loads(row.model_dump_json(exclude={"id"}, exclude_none=True)))
        try:
            await self.write(event, row)
        except ApiError as error:
            self._log.warning("audit row not written yet", error=str(error))
            self._pending.append((event, row))

    async def catch_up(self) -> None:
        """Write what waits, and delete what is too old. Raises ApiError."""
        while self._pending:
            await self.write(*self._pending[0])
            self._pending.popleft()
        for namespace, name in self._audits.surplus():
            try:
                await self._kube.delete(Ref(CONFIGMAPS, namespace, name))
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise

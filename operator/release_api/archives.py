"""Archives: what each revision applied, one Secret each, because values hold passwords.

They are what an LLMService is rolled back to, and where the chart of an older helm revision came from.
"""

import base64
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson
from pydantic import ValidationError

from llm_operator.kube import ApiError, Kube
from llm_operator.resources import SECRETS, Obj, Ref, Selection
from release_api.models import ChartSource
from release_api.names import OWNER, OWNER_LABEL, RELEASE_LABEL, Key, archive_name, release_label

KEPT = 10
"""As many as helm keeps revisions by default."""
_REVISION_LABEL = f"{RELEASE_LABEL}-revision"


@dataclass(frozen=True, slots=True)
class Archive:
    """What one revision applied."""

    revision: int
    chart: ChartSource
    values: dict[str, Any]


class Archives:
    """Reads, writes and clears archives. Every method raises ApiError."""

    def __init__(self, kube: Kube) -> None:
        """Use a connection."""
        self._kube = kube

    async def save(self, key: Key, archive: Archive) -> None:
        """Write an archive, and delete the oldest beyond those kept."""
        body = _to_api(key, archive)
        ref = Ref(SECRETS, key[0], body["metadata"]["name"])
        try:
            await self._kube.create(SECRETS, body)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            await self._kube.merge(ref, {"data": body["data"]})
        numbered = sorted((_revision(obj), obj["metadata"]["name"]) for obj in await self._list(key))
        for _, name in numbered[:-KEPT]:
            await self._delete(key, name)

    async def all(self, key: Key) -> list[Archive]:
        """Read a release's archives, newest first; what cannot be read is left out."""
        found = [_from_api(obj) for obj in await self._list(key, whole=True)]
        return sorted((a for a in found if a is not None), key=lambda a: a.revision, reverse=True)

    async def clear(self, key: Key) -> int:
        """Delete the archives of a release, of this one only; return how many there were."""
        objects = await self._list(key)
        for obj in objects:
            await self._delete(key, obj["metadata"]["name"])
        return len(objects)

    async def _list(self, key: Key, *, whole: bool = False) -> list[Obj]:
        labels = f"{OWNER_LABEL}={OWNER},{RELEASE_LABEL}={release_label(key[1])}"
        objects, _ = await self._kube.list(Selection(SECRETS, key[0], labels, metadata_only=not whole))
        return objects

    async def _delete(self, key: Key, name: str) -> None:
        try:
            await self._kube.delete(Ref(SECRETS, key[0], name))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise


def _revision(obj: Obj) -> int:
    text = str((obj["metadata"].get("labels") or {}).get(_REVISION_LABEL, ""))
    return int(text) if text.isdigit() else 0


def _to_api(key: Key, archive: Archive) -> Obj:
    chart = archive.chart.model_dump(by_alias=True, exclude_defaults=True)
    text = orjson.dumps({"chart": chart, "values": archive.values})
    labels = {OWNER_LABEL: OWNER, RELEASE_LABEL: release_label(key[1])}
    labels |= {_REVISION_LABEL: str(archive.revision)}
    meta = {"name": archive_name(key[1], archive.revision), "namespace": key[0], "labels": labels}
    data = {"archive.json": base64.b64encode(text).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta, "data": data}


def _from_api(obj: Obj) -> Archive | None:
    try:
        body = orjson.loads(base64.b64decode(obj["data"]["archive.json"]))
        return Archive(_revision(obj), ChartSource.model_validate(body["chart"]), dict(body["values"]))
    except (LookupError, TypeError, ValueError, ValidationError):
        return None

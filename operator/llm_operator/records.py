"""Helm's stored release records: one Secret of type `helm.sh/release.v1` per revision. Pure.

Bytes in, record out.

A record is JSON, gzipped, base64-encoded by Helm, and base64-encoded once more as Secret data.
"""

import base64
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

SECRET_TYPE = "helm.sh/release.v1"  # noqa: S105 - the type of a Secret, not a secret
SELECTOR = "owner=helm"
LARGEST = 64 * 2**20
"""Bytes a decoded record may have; a Secret holds 1 MiB, so more is a decompression bomb."""


class Held(StrEnum):
    """The three answers to 'does helm still hold this release?'."""

    HELD = "held"
    GONE = "gone"
    UNKNOWN = "unknown"


class RecordError(ValueError):
    """A stored record cannot be decoded: neither 'held' nor 'gone' follows from it."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What a record's Secret says in its metadata.

    Enough for who, which and how, without the record itself.
    """

    namespace: str
    release: str
    version: int
    status: str
    secret: str
    resource_version: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """What a decoded record says."""

    name: str
    namespace: str
    version: int
    status: str
    chart: str
    chart_version: str
    manifest: str


def revision_from_api(obj: Mapping[str, Any]) -> Revision | None:
    """Read a Secret's metadata; None where the labels are not those of a Helm record."""
    meta = obj["metadata"]
    labels = meta.get("labels") or {}
    if (
        labels.get("owner") != "helm"
        or not labels.get("name")
        or not str(labels.get("version", "")).isdigit()
    ):
        return None
    return Revision(
        namespace=meta["namespace"],
        release=labels["name"],
        version=int(labels["version"]),
        status=labels.get("status", "unknown"),
        secret=meta["name"],
        resource_version=meta["resourceVersion"],
        labels=labels,
    )


def newest(revisions: Iterable[Revision]) -> Revision | None:
    """Return the newest revision: the one helm works on. None when helm holds nothing."""
    return max(revisions, key=lambda revision: revision.version, default=None)


def holds(revision: Revision | None) -> bool:
    """Say whether helm still holds the release; a kept history of status `uninstalled` counts as gone."""
    return revision is not None and revision.status != "uninstalled"


def decode(secret: Mapping[str, Any]) -> Record:
    """Decode the record in a Secret as the API server sends it; raises RecordError."""
    body = _body(secret)
    try:
        return _record(body)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(secret, error) from error


def _body(secret: Mapping[str, Any]) -> dict[str, Any]:
    try:
        text = base64.b64decode(base64.b64decode(secret["data"]["release"], validate=True), validate=True)
        body = orjson.loads(_unzip(text))
    except (LookupError, TypeError, ValueError, AttributeError, zlib.error) as error:
        raise _unreadable(secret, error) from error
    if not isinstance(body, dict):
        raise _unreadable(secret, TypeError())
    return body


def _unreadable(secret: Mapping[str, Any], error: Exception) -> RecordError:
    name = (secret.get("metadata") or {}).get("name", "?")
    return RecordError(f"Secret {name} holds no readable Helm record: {type(error).__name__}")


def values(secret: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a record was rendered with: those given, over the chart's own.

    Raises RecordError.
    """
    body = _body(secret)
    try:
        chart = (body.get("chart") or {}).get("values") or {}
        return _over(chart, body.get("config") or {})
    except (TypeError, AttributeError) as error:
        raise _unreadable(secret, error) from error


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay values over others as Helm does: blocks are merged, and a null takes away what is below."""
    made = dict(below)
    for name, value in above.items():
        if value is None:
            made.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(made.get(name), Mapping):
            made[name] = _over(made[name], value)
        else:
            made[name] = value
    return made


def _unzip(text: bytes) -> bytes:
    if not text.startswith(b"\x1f\x8b"):
        return text  # Helm still reads records from before it compressed them.
    unzipper = zlib.decompressobj(zlib.MAX_WBITS | 16)
    body = unzipper.decompress(text, LARGEST)
    if not unzipper.eof:
        raise ValueError("truncated or larger than allowed")
    return body


def _record(body: Mapping[str, Any]) -> Record:
    chart = ((body.get("chart") or {}).get("metadata")) or {}
    return Record(
        name=str(body["name"]),
        namespace=str(body["namespace"]),
        version=int(body["version"]),
        status=str(body["info"]["status"]),
        chart=str(chart.get("name") or ""),
        chart_version=str(chart.get("version") or ""),
        manifest=str(body.get("manifest") or ""),
    )

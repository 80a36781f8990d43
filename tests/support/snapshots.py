"""Snapshots of clusters that never were, from short manifests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from modelctl.snapshot.kinds import TABLE
from modelctl.snapshot.objects import Kind, Snapshot, group

Manifest = dict[str, Any]

NOW = datetime(2031, 5, 6, 12, 0, tzinfo=UTC)
EARLIER, JUST_NOW = "2031-05-06T11:00:00Z", "2031-05-06T11:59:00Z"
SYSTEM = "modelplane-system"
GROUPS = frozenset({group(row.api_version) for row in TABLE} | {"example.com"})
_HOMES = {row.kind: row.api_version for row in reversed(TABLE)}


def made(kind: str, name: str, spec: Manifest | None = None, **more: Any) -> Manifest:  # noqa: ANN401 -- whatever a manifest has
    """Return a manifest; `more` is metadata, but for `api` (its apiVersion) and what stands at the top."""
    top: Manifest = {key: more.pop(key) for key in ("status", "webhooks", "providerConfigRef") if key in more}
    api_version = more.pop("api", _HOMES[kind])
    meta = {"name": name, "uid": f"uid-{kind}-{name}", **more}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec or {}, **top}


def inside(kind: str, name: str, spec: Manifest | None = None, **more: Any) -> Manifest:  # noqa: ANN401 -- as above
    """Return a manifest in the system namespace."""
    return made(kind, name, spec, namespace=SYSTEM, **more)


def of(owner: Manifest) -> list[Manifest]:
    """Return the ownerReferences of what an object composed."""
    named = {"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return [{**named, "controller": True}]


def usage(name: str, protected: Manifest, user: Manifest | None, **more: Any) -> Manifest:  # noqa: ANN401 -- as above
    """Return a Usage in force."""
    ends = {"of": _end(protected)} | ({"by": _end(user)} if user is not None else {})
    return inside("Usage", name, ends, finalizers=["usage.example.com"], **more)


def _end(one: Manifest) -> Manifest:
    named = {"name": one["metadata"]["name"]}
    return {"apiVersion": one["apiVersion"], "kind": one["kind"], "resourceRef": named}


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Manifest:
    """Return a status with one condition."""
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "message": message}]}


def snapshot(
    *manifests: Manifest, unread: tuple[Kind, ...] = (), groups: frozenset[str] = GROUPS
) -> Snapshot:
    """Return a snapshot in which every kind was read but those of `unread`."""
    objects: dict[Kind, tuple[Manifest, ...]] = {(group(row.api_version), row.kind): () for row in TABLE}
    for one in manifests:
        kind = (group(one["apiVersion"]), one["kind"])
        objects[kind] = (*objects.get(kind, ()), one)
    return Snapshot(NOW, objects, groups, dict.fromkeys(unread, "forbidden"))

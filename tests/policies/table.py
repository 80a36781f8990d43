"""Reads policies/cases.yaml into frozen cases."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from policies.kinds import KINDS, Kind, Object
from policies.wire import User

BUNDLE = Path(__file__).parents[2] / "policies"
_METADATA = ("namespace", "labels", "annotations", "ownerReferences", "finalizers")


@dataclass(frozen=True)
class Case:
    """One row: who asks for what on which object, and what the server has to answer."""

    name: str
    user: User
    kind: Kind
    allowed: bool
    source: str = ""
    verb: str = "DELETE"
    version: str = ""
    options: Object | None = None
    query: dict[str, str] = field(default_factory=dict)
    patch: Object = field(default_factory=dict)
    object: Object = field(default_factory=dict)
    deleting: bool = False
    collection: bool = False
    message_has: tuple[str, ...] = ()
    message_lacks: tuple[str, ...] = ()
    warns: bool = False
    warning_has: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The test's name: the public report's case, where there is one, and the row."""
        return f"{self.source}-{self.name}" if self.source else self.name

    def manifest(self, suffix: str = "") -> Object:
        """Return the object that the row is about; a suffix is added to a name that the row leaves open."""
        name = self.object.get("name", f"{self.name}{suffix}")
        metadata = {key: self.object[key] for key in _METADATA if key in self.object}
        manifest: Object = {"apiVersion": self.kind.api_version(), "kind": self.kind.kind}
        manifest["metadata"] = {"name": name, **metadata}
        if "spec" in self.object:
            manifest["spec"] = self.object["spec"]
        return manifest


def load(path: Path = BUNDLE / "cases.yaml") -> list[Case]:
    """Return all rows of the table, defaults filled in and names of users resolved."""
    document = yaml.safe_load(path.read_text())
    return [_case({**document["defaults"], **row}, document["users"]) for row in document["cases"]]


def _case(row: dict[str, Any], users: dict[str, str]) -> Case:
    options = row.get("options")
    if row.get("dryRun"):
        options = {**(options or {}), "dryRun": ["All"]}
    return Case(
        name=row["name"],
        user=User(users.get(row["user"], row["user"]), tuple(row.get("groups", ()))),
        kind=KINDS[row["object"]["kind"]],
        allowed=row["allowed"],
        source=row.get("from", ""),
        verb=row.get("verb", "DELETE"),
        version=row.get("version", ""),
        options=options,
        query=row.get("query", {}),
        patch=row.get("patch", {}),
        object=row["object"],
        deleting=row.get("deleting", False),
        collection=row.get("collection", False),
        message_has=tuple(row.get("message_has", ())),
        message_lacks=tuple(row.get("message_lacks", ())),
        warns=row.get("warns", False),
        warning_has=tuple(row.get("warning_has", ())),
    )

"""What the audit log of a plane says about deletes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from controlplane.plane import Plane

COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
NAMESPACES = "system:serviceaccount:kube-system:namespace-controller"
CROSSPLANE = "system:serviceaccount:crossplane-system:crossplane"


@dataclass(frozen=True)
class Delete:
    """One DELETE that the API server answered; one of a whole collection has no name."""

    user: str
    resource: str
    name: str
    namespace: str
    code: int


def deletes(plane: Plane) -> Iterator[Delete]:
    """Yield every DELETE so far, in the order of the answers."""
    for event in plane.audit():
        if event["verb"] in {"delete", "deletecollection"}:
            ref = event["objectRef"]
            user = event.get("impersonatedUser", event["user"])["username"]
            code = event["responseStatus"]["code"]
            yield Delete(user, ref["resource"], ref.get("name", ""), ref.get("namespace", ""), code)


def by(plane: Plane, user: str, name: str) -> list[int]:
    """Return the answers that a user got to deletes of objects of a name."""
    return [delete.code for delete in deletes(plane) if (delete.user, delete.name) == (user, name)]

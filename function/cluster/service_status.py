"""The status of the LLMServices: listed ones, and those that left the list until they are really gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import serving, structs
from function.cluster.services import object_ref
from function.model import Condition, Lookup
from function.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from function.model import Plan
    from function.observed import Observed, Resource
    from function.serving import At
    from function.structs import Plain
    from function.wire import Struct

# An LLMService that is not there yet, or whose controller has not seen it.
PENDING = "Pending"
READY = "Ready"

_DELETION = ("stage", "outcome", "podsRemaining", "message")


def departed(
    made: Plan, observed: Observed, cluster: str, known: Mapping[At, Mapping[str, Plain]], wanted: set[At]
) -> dict[At, Resource | None]:
    """Return the services that left the list and are not gone; None where that is not answered yet."""
    found: dict[At, Resource | None] = {}
    for at in sorted(known.keys() - wanted):
        key = serving.key(*at)
        if (resource := observed.get(key)) is not None:
            found[at] = resource
            continue
        ref = object_ref(cluster, key)
        lookup = f"departed-{key}"
        made.lookups[lookup] = Lookup(ref.api_version, ref.kind, name=ref.name, namespace=ref.namespace)
        if not observed.asked(lookup):
            found[at] = None
        elif answer := observed.found(lookup):
            found[at] = answer[0]
    return found


def entry(at: At, carrier: Resource | None) -> dict[str, Plain]:
    """Return the entry of one service, read from the Object that carries it."""
    namespace, name = at
    made: dict[str, Plain] = {"namespace": namespace, "name": name, "phase": PENDING}
    status = _status(carrier)
    if status is None:
        return made
    made["phase"] = structs.text(status, "phase") or PENDING
    deletion = structs.block(status, "deletion")
    if deletion is not None:
        given = ((field, structs.plain(structs.get(deletion, field))) for field in _DELETION)
        made["deletion"] = {field: value for field, value in given if value is not None}
    return made


def _status(carrier: Resource | None) -> Struct | None:
    if carrier is None:
        return None
    return structs.block(carrier.body, "status", "atProvider", "manifest", "status")


def conclude(made: Plan, entries: Iterable[Mapping[str, Plain]]) -> None:
    """Write status.services and ServicesReady."""
    shown = list(entries)
    made.status["services"] = shown
    waiting = [e for e in shown if e["phase"] != READY]
    if not waiting:
        reason = "ServicesReady" if shown else "NoServices"
        made.conclude(Condition("ServicesReady", status=True, reason=reason))
        return
    message = listed([f"{e['namespace']}/{e['name']} ({e['phase']})" for e in waiting])
    made.conclude(Condition("ServicesReady", status=False, reason="NotReady", message=message))

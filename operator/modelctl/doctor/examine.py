"""Runs every check of the table over one snapshot. Pure."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from modelctl.doctor.checks import CHECKS
from modelctl.doctor.checks.crossplane import facts
from modelctl.doctor.finding import Finding, Severity, View
from modelctl.snapshot.objects import Snapshot

Found = tuple[str, Finding]


def examine(snapshot: Snapshot, patience: timedelta) -> list[Found]:
    """Return what the checks find, the worst first, each with the name of its check."""
    view = View(snapshot, patience)
    found = [(name, finding) for name, check in CHECKS.items() for finding in check(view)]
    order = tuple(Severity)
    return sorted(found, key=lambda one: order.index(one[1].severity))  # stable: by check within


def lines(snapshot: Snapshot, found: Sequence[Found]) -> list[str]:
    """Return what people read: a line for Crossplane, one for each finding."""
    told = facts(snapshot)
    has = ", ".join([*_texts(told["features"]), *_texts(told["flags"])]) or "no features"
    unread = [f"unknown  {kind}: {said}" for (_, kind), said in snapshot.unread.items()]
    listed = [f"{f.severity.value:8} {f.object}: {f.what}; run: {f.command}" for _, f in found]
    number = f"{len(found)} finding{'' if len(found) == 1 else 's'}" if found else "healthy"
    if snapshot.unread and not found:
        number = f"nothing found, but {len(snapshot.unread)} kinds could not be read"
    return [f"crossplane {told['version']}: {has}", *unread, *listed, number]


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def body(snapshot: Snapshot, found: Sequence[Found]) -> Mapping[str, object]:
    """Return the same as JSON."""
    findings = [
        {
            "check": name,
            "severity": f.severity.value,
            "object": f.object,
            "what": f.what,
            "command": f.command,
        }
        for name, f in found
    ]
    unread = {kind: said for (_, kind), said in snapshot.unread.items()}
    return {"crossplane": facts(snapshot), "findings": findings, "unread": unread}

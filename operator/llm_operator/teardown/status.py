"""From a decision to the status to store: pure, and empty when nothing would change."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from llm_operator.durations import format_duration
from llm_operator.pods import Pod, grace, stuck
from llm_operator.teardown.model import Decision, Deletion, Facts, Phase, format_time

SHOWN = 20
"""At most so many pods and forced pods are listed in status."""

Status = dict[str, Any]


def deleting_status(current: Mapping[str, Any], generation: int, decision: Decision, facts: Facts) -> Status:
    """Return what of `status` a teardown's decision changes, as a JSON merge patch of it; {} for nothing."""
    if decision.deletion is None or decision.reason is None:
        return {}
    return _changes(
        current,
        {
            "phase": Phase.DELETING,
            "deletion": _deletion(decision.deletion, decision, facts, current.get("deletion") or {}),
            "conditions": merge_conditions(
                current.get("conditions") or [],
                [
                    condition("Deleting", generation, decision.reason, decision.message, status=True),
                    condition("Ready", generation, "Deleting", "the service is being deleted", status=False),
                ],
                facts.now,
            ),
        },
    )


def release_status(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> Status:
    """Return what of `status` differs from `wanted`, as a JSON merge patch; {} for nothing."""
    return _changes(current, wanted)


def condition(kind: str, generation: int, reason: str, message: str, *, status: bool) -> Status:
    """Build a condition; its lastTransitionTime is filled in by merge_conditions."""
    return {
        "type": kind,
        "status": "True" if status else "False",
        "reason": str(reason),
        "message": message,
        "observedGeneration": generation,
    }


def merge_conditions(
    current: Sequence[Mapping[str, Any]], new: Sequence[Status], now: datetime
) -> list[Status]:
    """Put conditions among the stored ones, keyed by type; the time moves only when a status flips."""
    merged = {c["type"]: dict(c) for c in current}
    for entry in new:
        old = merged.get(entry["type"])
        same = old is not None and old.get("status") == entry["status"]
        since = old.get("lastTransitionTime") if old is not None and same else None
        merged[entry["type"]] = {**entry, "lastTransitionTime": since or _seconds(now)}
    return [merged[kind] for kind in sorted(merged)]


def condition_reason(status: Mapping[str, Any], kind: str) -> str | None:
    """Return the stored reason of a condition, None where it does not stand."""
    found = (c.get("reason") for c in status.get("conditions") or [] if c.get("type") == kind)
    return next(found, None)


def _deletion(deletion: Deletion, decision: Decision, facts: Facts, stored: Mapping[str, Any]) -> Status:
    pods = _pod_rows(decision.left, facts) if decision.left is not None else stored.get("pods")
    count = len(decision.left) if decision.left is not None else stored.get("podsRemaining")
    return {
        "stage": deletion.stage,
        "outcome": deletion.outcome,
        "startedAt": format_time(deletion.started_at),
        "deadline": format_time(deletion.started_at + facts.knobs.max_wait),
        "routeRemovedAt": _moment(deletion.route_removed_at),
        "uninstalledAt": _moment(deletion.uninstalled_at),
        "podsGoneAt": _moment(deletion.pods_gone_at),
        "podsRemaining": count,
        "pods": pods,
        "forceDeleted": list(deletion.force_deleted[:SHOWN]) or None,
        "message": decision.message,
    }


def _pod_rows(left: Sequence[Pod], facts: Facts) -> list[Status]:
    return [_pod_row(pod, facts) for pod in left[:SHOWN]]


def _pod_row(pod: Pod, facts: Facts) -> Status:
    deleted = pod.deletion_timestamp
    row = {
        "name": pod.name,
        "phase": pod.phase,
        "node": pod.node,
        "deletionTimestamp": _seconds(deleted) if deleted is not None else None,
        "grace": format_duration(grace(pod)),
        "stuck": stuck(pod, facts.nodes, facts.now),
    }
    return {key: value for key, value in row.items() if value is not None}


def _moment(moment: datetime | None) -> str | None:
    return format_time(moment) if moment is not None else None


def _seconds(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _changes(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> Status:
    """Return the merge patch from `current` to `wanted` over wanted's keys; None removes a key."""
    patch: Status = {}
    for key, value in wanted.items():
        if isinstance(value, Mapping):
            nested = _changes(current.get(key) or {}, value)
            if nested:
                patch[key] = nested
        elif value != current.get(key):
            patch[key] = str(value) if isinstance(value, str) else value
    return patch

"""The events a controller writes: constructors in one place. Pure.

An event's name is a hash of what it says about whom, so the same event written again (a pass repeated after
a restart) is a conflict that counts as done.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from llm_operator.api import API_VERSION, CONTROLLER, KIND
from llm_operator.pods import Pod
from llm_operator.teardown.knobs import Invalid
from llm_operator.teardown.model import Decision, Reason

MESSAGE_LENGTH = 1000
"""The API server refuses event messages over 1,024 bytes."""
_WARNINGS = frozenset({Reason.ROUTE_STUCK, Reason.PODS_FORCE_DELETED, Reason.TIMED_OUT})


@dataclass(frozen=True, slots=True)
class Event:
    """One event: `key` tells apart events of the same reason about the same object."""

    reason: str
    message: str
    key: str = ""
    warning: bool = False


def transition(reason: Reason, message: str) -> Event:
    """Build the event of a teardown's transition, its reason equal to the condition's."""
    return Event(str(reason), message, warning=reason in _WARNINGS)


def note(decision: Decision, generation: int) -> Event:
    """Build the event of a decision beside the stages.

    A suspension is told once per generation of the spec.
    """
    return Event(
        decision.note, decision.message, key=str(generation), warning=decision.note == "DeletionSuspended"
    )


def invalid_annotation(invalid: Invalid) -> Event:
    """Warn of a knob that was not understood, once per value."""
    message = f"{invalid.where}: {invalid.problem}; it is ignored"
    return Event("InvalidAnnotation", message, key=f"{invalid.where}={invalid.value}", warning=True)


def pod_force_deleted(pod: Pod) -> Event:
    """Warn of one pod that is deleted with grace 0."""
    message = (
        f"pod {pod.name} on node {pod.node or '(none)'} is deleted with grace 0: it terminates for too long"
    )
    return Event("PodForceDeleted", message, key=pod.uid, warning=True)


def force_delete_refused(pod: Pod, error: str) -> Event:
    """Warn of one pod that may not be force deleted."""
    message = f"pod {pod.name} cannot be deleted with grace 0: {error}; it is waited for"
    return Event("PodForceDeleteRefused", message, key=pod.uid, warning=True)


def uninstall_failed(error: str) -> Event:
    """Warn of a failed helm uninstall, once per error text."""
    return Event("UninstallFailed", error, key=error, warning=True)


def manifest(event: Event, obj: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Write the event as a core/v1 Event about an LLMService."""
    meta = obj["metadata"]
    moment = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    identity = "\0".join((meta["uid"], event.reason, event.key))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{meta['name'][:230]}.{digest}", "namespace": meta["namespace"]},
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
        },
        "type": "Warning" if event.warning else "Normal",
        "reason": event.reason,
        "message": event.message[:MESSAGE_LENGTH],
        "source": {"component": CONTROLLER},
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }

"""Which pods belong to a release, and which of them still count. Pure.

One rule for controller and release API.

Three clocks, easily mixed up, all derived from what the API server stored:
- the delete request: deletionTimestamp - deletionGracePeriodSeconds (`terminating_for` counts from here);
- the end of the grace window: deletionTimestamp + grace. A real API server already puts the grace into
  deletionTimestamp, so the window adds it once more: on purpose, it errs on the side of waiting;
- the moment from which a pod on a healthy node no longer counts: deletionTimestamp + grace + 5 min.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

INSTANCE_LABEL = "app.kubernetes.io/instance"
APP_LABEL = "app"
FINISHED = frozenset({"Succeeded", "Failed"})
DEFAULT_GRACE = 30
"""Seconds: what the API server defaults terminationGracePeriodSeconds to."""
LATE = timedelta(minutes=5)
"""How long past its window a terminating pod on a healthy node still counts."""

Nodes = Mapping[str, bool]
"""Node name -> Ready. A node that is not in it does not exist."""


@dataclass(frozen=True, slots=True)
class Pod:
    """The few fields of a pod that the rules read; `node` is empty for an unbound pod."""

    namespace: str
    name: str
    uid: str
    phase: str
    node: str
    instance: str | None
    app: str | None
    deletion_timestamp: datetime | None
    deletion_grace: int | None
    termination_grace: int | None


@dataclass(frozen=True, slots=True)
class ReleaseName:
    """What names a release's pods: its namespace, its name and its chart's name."""

    namespace: str
    name: str
    chart: str

    @property
    def app(self) -> str:
        """The value of the `app` label that older charts set."""
        return f"{self.name}-{self.chart}"


def parse_time(text: str) -> datetime:
    """Read an RFC 3339 time as the API server writes it; raises ValueError."""
    return datetime.fromisoformat(text)


def pod_from_api(obj: Mapping[str, Any]) -> Pod:
    """Take what the rules need from a v1 Pod as the API server sends it."""
    meta, spec = obj["metadata"], obj.get("spec") or {}
    labels, deleted = meta.get("labels") or {}, meta.get("deletionTimestamp")
    return Pod(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        phase=(obj.get("status") or {}).get("phase", ""),
        node=spec.get("nodeName") or "",
        instance=labels.get(INSTANCE_LABEL),
        app=labels.get(APP_LABEL),
        deletion_timestamp=parse_time(deleted) if deleted else None,
        deletion_grace=meta.get("deletionGracePeriodSeconds"),
        termination_grace=spec.get("terminationGracePeriodSeconds"),
    )


def node_ready(obj: Mapping[str, Any]) -> bool:
    """Say whether a v1 Node's Ready condition is True (Unknown and absent are not)."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def belongs(pod: Pod, release: ReleaseName) -> bool:
    """Say whether a pod is the release's.

    By its instance label, or by `app` where no instance label denies it.
    """
    if pod.namespace != release.namespace:
        return False
    if pod.instance is not None:
        return pod.instance == release.name
    return pod.app == release.app


def grace(pod: Pod) -> timedelta:
    """Return the pod's grace period; an explicit 0 is a real zero."""
    for seconds in (pod.deletion_grace, pod.termination_grace):
        if seconds is not None:
            return timedelta(seconds=seconds)
    return timedelta(seconds=DEFAULT_GRACE)


def node_lost(pod: Pod, nodes: Nodes) -> bool:
    """Say whether the pod's node is NotReady or missing; an unbound pod has none to lose."""
    return bool(pod.node) and not nodes.get(pod.node, False)


def counts(pod: Pod, nodes: Nodes, now: datetime) -> bool:
    """Say whether the pod still holds its release: it may still run, as far as anybody can tell."""
    if pod.phase in FINISHED:
        return False
    if pod.deletion_timestamp is None:
        return True
    window_end = pod.deletion_timestamp + grace(pod)
    if now <= window_end:
        return True
    return not node_lost(pod, nodes) and now <= window_end + LATE


def stuck(pod: Pod, nodes: Nodes, now: datetime) -> bool:
    """Say whether a pod is terminating and past its grace window, or lies on a NotReady or missing node."""
    past = pod.deletion_timestamp is not None and now > pod.deletion_timestamp + grace(pod)
    return past or node_lost(pod, nodes)


def terminating_for(pod: Pod, now: datetime) -> timedelta | None:
    """Return how long ago the delete was asked for; None for a pod that nobody deleted."""
    if pod.deletion_timestamp is None:
        return None
    return now - (pod.deletion_timestamp - timedelta(seconds=pod.deletion_grace or 0))


def remaining(pods: Iterable[Pod], nodes: Nodes, now: datetime) -> tuple[Pod, ...]:
    """Return the pods that still count, sorted by name."""
    return tuple(sorted((pod for pod in pods if counts(pod, nodes, now)), key=lambda pod: pod.name))

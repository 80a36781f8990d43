"""What people see of a release: a row, a status. Pure: from what memory knows, and the moment."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from llm_operator.pods import Pod, ReleaseName
from llm_operator.records import Revision
from llm_operator.resources import Obj
from release_api.models import (
    MOST_PODS,
    Backend,
    LLMServiceStatus,
    Phase,
    PlanStatus,
    PodView,
    Release,
    Row,
    phase_of_service,
)
from release_api.names import Key
from release_api.plan import Plan

STUCK = timedelta(hours=1)
"""After so long, live pods of a release that helm has dropped are called stuck: nobody will end them."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What memory knows of one release."""

    key: Key
    plan: Plan | None = None
    service: Obj | None = None
    revision: Revision | None = None
    pods: Sequence[Pod] = ()
    """Those that count, sorted by name."""
    pods_fresh: bool = True
    hold: str | None = None

    @property
    def backend(self) -> Backend:
        """The plan's backend; without a plan an LLMService is all there is."""
        return self.plan.backend if self.plan is not None else Backend.LLMSVC

    @property
    def phase(self) -> Phase:
        """The phase, whatever the backend."""
        if self.plan is not None and (self.backend is Backend.HELM or self.plan.uninstalling):
            return self.plan.phase
        if self.service is not None:
            return phase_of_service(self.service)
        return self.plan.phase if self.plan is not None else Phase.UNINSTALLING

    @property
    def uninstalling(self) -> bool:
        """Whether it is to be listed as uninstalling."""
        return self.phase is Phase.UNINSTALLING


def pods_of(service: Mapping[str, Any]) -> ReleaseName:
    """Return what names the pods of an LLMService."""
    meta, spec = service["metadata"], service["spec"]
    name = str(spec.get("releaseName") or meta["name"])
    return ReleaseName(meta["namespace"], name, str(spec["chart"]["name"]))


def row(facts: Facts, now: datetime) -> Row:
    """Build a release's row."""
    return Row(**_common(facts, now), pods=_names(facts))


def release(facts: Facts, now: datetime) -> Release:
    """Build a release's status."""
    views = [_pod(pod) for pod in facts.pods[:MOST_PODS]]
    out = Release(**_common(facts, now), pods=views)
    plan = facts.plan
    if plan is not None:
        by = plan.status.by.name if plan.status.by else None
        out.plan_status = PlanStatus(
            phase=plan.phase, message=plan.status.message or None, since=plan.status.since, by=by
        )
    if facts.backend is Backend.LLMSVC:
        status = (facts.service or {}).get("status") or {}
        out.llmservice = LLMServiceStatus(
            phase=facts.phase, operatorPhase=status.get("phase"), deletion=status.get("deletion")
        )
    return out


def _common(facts: Facts, now: datetime) -> dict[str, Any]:
    helm = facts.backend is Backend.HELM
    drift, message = (_helm_drift if helm else _service_drift)(facts, now)
    uninstalling = facts.uninstalling
    return {
        "namespace": facts.key[0],
        "release": facts.key[1],
        "backend": facts.backend,
        "chart": _chart(facts),
        "phase": facts.phase,
        "revision": _revision(facts),
        "replicas": len(facts.pods) if facts.pods_fresh else None,
        "drift": drift,
        "holdReason": facts.hold,
        "message": message,
        "since": _since(facts) if uninstalling else None,
        "podsRemaining": len(facts.pods) if uninstalling and facts.pods_fresh else None,
        "deletion": None if helm else ((facts.service or {}).get("status") or {}).get("deletion"),
    }


def _chart(facts: Facts) -> str:
    if facts.service is not None and facts.backend is Backend.LLMSVC:
        chart = facts.service["spec"]["chart"]
        return f"{chart['name']}-{chart['version']}"
    return facts.plan.chart.label if facts.plan is not None else ""


def _revision(facts: Facts) -> int | None:
    if facts.backend is Backend.HELM:
        return facts.revision.version if facts.revision is not None else None
    status = (facts.service or {}).get("status") or {}
    return int((status.get("release") or {}).get("revision") or 0) or None


def _since(facts: Facts) -> datetime | None:
    return facts.plan.status.since if facts.plan is not None else None


def _names(facts: Facts) -> list[str] | None:
    return [pod.name for pod in facts.pods[:MOST_PODS]] if facts.uninstalling and facts.pods else None


def _pod(pod: Pod) -> PodView:
    since = pod.deletion_timestamp
    ending = since is not None
    node = pod.node or None
    return PodView(name=pod.name, phase=pod.phase, node=node, terminating=ending, deletionTimestamp=since)


def _helm_drift(facts: Facts, now: datetime) -> tuple[str | None, str | None]:
    """Say what keeps a release that uninstalls, and how to end it."""
    plan = facts.plan
    message = (plan.status.message if plan is not None else "") or None
    if plan is None or not facts.uninstalling:
        return None, message
    if facts.revision is not None:
        trouble = None if plan.trusted else "the plan was changed by somebody else: delete the release again"
        return "uninstall in progress: Uninstalling", trouble
    live = [pod for pod in facts.pods if pod.deletion_timestamp is None]
    since = plan.status.since
    if live and since is not None and now - since >= STUCK:
        drift = f"uninstall stuck: {len(live)} live pods that helm did not delete"
        return drift, f"since {since:%Y-%m-%dT%H:%M:%SZ}; delete them: {_command(facts.key[0], live)}"
    return "uninstall in progress: PodsTerminating", _waiting(facts)


def _waiting(facts: Facts) -> str:
    if not facts.pods_fresh:
        return "the pods cannot be seen for now"
    number = len(facts.pods)
    return f"waiting for {number} pod{'' if number == 1 else 's'}" if number else "waiting for the last look"


def _command(namespace: str, pods: Iterable[Pod]) -> str:
    names = [pod.name for pod in pods]
    more = f" (and {len(names) - MOST_PODS} more)" if len(names) > MOST_PODS else ""
    return f"kubectl delete pod -n {namespace} {' '.join(names[:MOST_PODS])}{more}"


def _service_drift(facts: Facts, now: datetime) -> tuple[str | None, str | None]:
    del now
    deletion = ((facts.service or {}).get("status") or {}).get("deletion") or {}
    if not facts.uninstalling:
        return None, None
    stage = deletion.get("stage")
    return f"uninstall in progress{': ' + str(stage) if stage else ''}", deletion.get("message")

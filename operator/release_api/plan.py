"""A release's plan: what was applied, by whom, and what is being done to it. Pure.

Stored as a ConfigMap of two documents, `plan.yaml` and `status.yaml`, with the phase as a label, and sealed:
the server acts in the background as the user that stands in it, so whoever can write a ConfigMap must not be
able to name one (see `seal`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import yaml
from pydantic import ValidationError

from llm_operator.charts import Chart
from llm_operator.pods import ReleaseName, parse_time
from llm_operator.resources import Obj
from release_api.models import Backend, ChartSource, Phase
from release_api.names import PHASE_LABEL, RELEASE_LABEL, Key, plan_ref, release_label
from release_api.seal import Seal

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class PlanError(ValueError):
    """A ConfigMap is labelled as a plan but cannot be read as one."""


@dataclass(frozen=True, slots=True)
class User:
    """Who asks: what TokenReview says of a token, as far as helm can be told to act as it."""

    name: str
    groups: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return the user as stored."""
        return {"name": self.name, "groups": list(self.groups)}


@dataclass(frozen=True, slots=True)
class Status:
    """What is being done: the phase, since when, by whom, and what to say about it."""

    phase: Phase
    since: datetime | None = None
    by: User | None = None
    message: str = ""
    service_uid: str = ""
    """llmsvc: the UID of the LLMService that the plan is about."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One plan; `version` and `uid` are the ConfigMap's, empty before it is stored."""

    key: Key
    backend: Backend
    chart: ChartSource
    user: User
    status: Status
    version: str = ""
    uid: str = ""
    trusted: bool = field(default=False, compare=False)
    """Whether all of it is what this server wrote: only then is it sealed when it is written again."""

    @property
    def phase(self) -> Phase:
        """The phase."""
        return self.status.phase

    @property
    def uninstalling(self) -> bool:
        """Whether an uninstall has begun and not failed."""
        return self.status.phase is Phase.UNINSTALLING

    @property
    def pods(self) -> ReleaseName:
        """What names the release's pods."""
        return ReleaseName(self.key[0], self.key[1], self.chart.name)

    def applied_by(self, user: User, chart: ChartSource, status: Status) -> "Plan":
        """Return the plan with all of it replaced that anybody could have changed: it is ours again."""
        return replace(self, user=user, chart=chart, status=status, trusted=True)

    def with_status(self, status: Status) -> "Plan":
        """Return the plan with another status."""
        return replace(self, status=status)


def helm_chart(source: ChartSource) -> Chart:
    """Return a chart's source as helm takes it."""
    if source.oci:
        return Chart(f"{source.oci.rstrip('/')}/{source.name}", source.version, plain_http=source.plain_http)
    return Chart(source.name, source.version, repository=source.repository)


def to_api(plan: Plan, seal: Seal) -> Obj:
    """Write a plan as a ConfigMap.

    One that is not stored yet has no UID and so no seal. One that others have changed gets none either, lest
    their words become ours.
    """
    ref = plan_ref(plan.key)
    plan_text, status_text = _dump(_what(plan)), _dump(_how(plan.status))
    labels = {PHASE_LABEL: str(plan.phase), RELEASE_LABEL: release_label(plan.key[1])}
    meta: Obj = {"name": ref.name, "namespace": ref.namespace, "labels": labels}
    data: Obj = {"plan.yaml": plan_text, "status.yaml": status_text}
    if plan.uid:
        meta |= {"uid": plan.uid, "resourceVersion": plan.version}
        data["seal"] = seal.of(plan.uid, plan_text, status_text) if plan.trusted else None
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def from_api(obj: Mapping[str, Any], seal: Seal) -> Plan:
    """Read a plan from a ConfigMap; raises PlanError."""
    meta, data = obj["metadata"], obj.get("data") or {}
    texts = str(data.get("plan.yaml", "")), str(data.get("status.yaml", ""))
    try:
        what, how = (yaml.load(text, Loader=_Loader) or {} for text in texts)  # noqa: S506 - a safe loader
        key = (meta["namespace"], str(what["release"]))
        if plan_ref(key).name != meta["name"]:
            raise ValueError(f"the plan of {key[1]}")  # noqa: TRY301 - as unreadable as the rest
        return Plan(
            key=key,
            backend=Backend(what["backend"]),
            chart=ChartSource.model_validate(what["chart"]),
            user=_user(what["user"]),
            status=_status(how),
            version=meta["resourceVersion"],
            uid=meta["uid"],
            trusted=seal.holds(str(data.get("seal", "")), meta["uid"], *texts),
        )
    except (yaml.YAMLError, LookupError, TypeError, ValueError, AttributeError, ValidationError) as error:
        raise PlanError(f"ConfigMap {meta['name']} is no readable plan: {type(error).__name__}") from error


def _what(plan: Plan) -> dict[str, Any]:
    chart = plan.chart.model_dump(by_alias=True, exclude_defaults=True)
    user = plan.user.as_data()
    return {"release": plan.key[1], "backend": str(plan.backend), "chart": chart, "user": user}


def _how(status: Status) -> dict[str, Any]:
    out: dict[str, Any] = {"phase": str(status.phase)}
    out |= {"since": status.since.isoformat()} if status.since else {}
    out |= {"by": status.by.as_data()} if status.by else {}
    out |= {"message": status.message} if status.message else {}
    return out | ({"serviceUID": status.service_uid} if status.service_uid else {})


def _user(data: Mapping[str, Any]) -> User:
    return User(str(data["name"]), tuple(str(group) for group in data.get("groups") or ()))


def _status(data: Mapping[str, Any]) -> Status:
    since, by = data.get("since"), data.get("by")
    return Status(
        phase=Phase(data["phase"]),
        since=parse_time(str(since)) if since else None,
        by=_user(by) if by else None,
        message=str(data.get("message") or ""),
        service_uid=str(data.get("serviceUID") or ""),
    )


def _dump(document: Mapping[str, Any]) -> str:
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True))

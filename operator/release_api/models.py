"""What goes over the wire: bodies of requests and answers, and the one enum of phases. Pure.

Fields without a value are left out of an answer, so that everything new is optional and additive.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

IN_PROGRESS = "uninstall already in progress"
RELEASE_LENGTH = 53
"""Helm's own limit."""
MOST_PODS = 20
"""Pods that a row or status names."""

ReleaseName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=RELEASE_LENGTH)
]


class Phase(StrEnum):
    """Where a release is, whatever its backend. An LLMService's own word for it is `operatorPhase`."""

    APPLIED = "applied"
    UNINSTALLING = "uninstalling"
    FAILED = "failed"
    PENDING = "pending"
    INSTALLING = "installing"
    READY = "ready"
    SUSPENDED = "suspended"


class Backend(StrEnum):
    """Who installs and removes a release."""

    HELM = "helm"
    LLMSVC = "llmsvc"


class Wire(BaseModel):
    """A body in camelCase; unknown fields are refused in requests."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


_ONE_SOURCE: dict[str, Any] = {
    "oneOf": [
        {"required": [one], "properties": {one: {"type": "string"}, other: {"type": "null"}}}
        for one, other in (("repository", "oci"), ("oci", "repository"))
    ]
}


class ChartSource(Wire):
    """Where a chart comes from: a classic repository or an OCI registry. Never a path on the server."""

    model_config = ConfigDict(json_schema_extra=_ONE_SOURCE)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=128)]
    version: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$", max_length=128)]
    repository: Annotated[str, StringConstraints(pattern=r"^https?://[!-?A-~]+$", max_length=1024)] | None = (
        None
    )
    oci: Annotated[str, StringConstraints(pattern=r"^oci://[!-?A-~]+$", max_length=1024)] | None = None
    plain_http: bool = Field(default=False, alias="plainHTTP")

    @model_validator(mode="after")
    def _one_source(self) -> "ChartSource":
        if bool(self.repository) == bool(self.oci):
            raise ValueError("name exactly one of repository and oci")
        return self

    @property
    def label(self) -> str:
        """The chart as rows show it: name and version."""
        return f"{self.name}-{self.version}"


class Change(Wire):
    """What an install or upgrade applies. `backend` is read on install only; later ones keep it."""

    chart: ChartSource
    values: dict[str, Any] = Field(default_factory=dict)

    @field_validator("values")
    @classmethod
    def _storable(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Refuse what JSON can say and nobody can store: numbers beyond 64 bits, half a surrogate pair."""
        try:
            orjson.dumps(values)
        except TypeError as error:
            raise ValueError(f"cannot be stored: {error}") from error
        return values


class Install(Change):
    """What an install applies, and by which backend."""

    backend: Backend = Backend.HELM


class Rollback(Wire):
    """Which revision to go back to; without one, to the one before the present."""

    revision: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class Answer(BaseModel):
    """A body that we send; fields without a value are left out of it."""

    model_config = ConfigDict(populate_by_name=True)


class PodView(Answer):
    """A pod of a release that still counts."""

    name: str
    phase: str
    node: str | None = None
    terminating: bool = False
    deletion_timestamp: datetime | None = Field(default=None, alias="deletionTimestamp")


class Summary(Answer):
    """What a row and a status have in common."""

    namespace: str
    release: str
    backend: Backend
    chart: str
    phase: Phase
    revision: int | None = Field(default=None, ge=1)
    replicas: int | None = Field(default=None, ge=0)
    """Pods that run, or still end."""
    drift: str | None = None
    hold_reason: str | None = Field(default=None, alias="holdReason")
    message: str | None = None
    since: datetime | None = None
    """When the uninstall began."""
    pods_remaining: int | None = Field(default=None, alias="podsRemaining")
    deletion: dict[str, Any] | None = None
    """llmsvc only: the LLMService's `status.deletion` as it is."""


class Row(Summary):
    """One release in the list."""

    pods: list[str] | None = None
    """At most 20 pods that keep an uninstalling release listed."""


class Deployments(Answer):
    """Every release that the caller may see."""

    items: list[Row]


class PlanStatus(Answer):
    """What the plan of a helm release says."""

    phase: Phase
    message: str | None = None
    since: datetime | None = None
    by: str | None = None


class LLMServiceStatus(Answer):
    """What an LLMService says of itself."""

    phase: Phase
    operator_phase: str | None = Field(default=None, alias="operatorPhase")
    deletion: dict[str, Any] | None = None


class Release(Summary):
    """One release in full."""

    plan_status: PlanStatus | None = Field(default=None, alias="planStatus")
    llmservice: LLMServiceStatus | None = None
    pods: list[PodView] = Field(default_factory=list)
    """At most 20."""


class Outcome(Answer):
    """What came of a change: 200 when it is done, 202 when a controller goes on with it."""

    namespace: str
    release: str
    backend: Backend
    phase: Phase
    output: str = ""
    revision: int | None = Field(default=None, ge=1)


class AuditRow(Answer):
    """One change: who, what, and how it went."""

    id: str
    at: datetime
    user: str
    verb: str
    namespace: str
    release: str
    backend: Backend
    result: str
    detail: str | None = None


class AuditPage(Answer):
    """A page of audit rows, newest first; `next` continues it."""

    items: list[AuditRow]
    next: str | None = None


class Problem(Answer):
    """An error, as RFC 9457 has it."""

    type: Literal["about:blank"] = "about:blank"
    title: str
    status: int
    detail: str
    instance: str | None = None


_OPERATOR_PHASES: Mapping[str, Phase] = {
    "Pending": Phase.PENDING,
    "Installing": Phase.INSTALLING,
    "Ready": Phase.READY,
    "Failed": Phase.FAILED,
    "Suspended": Phase.SUSPENDED,
    "Deleting": Phase.UNINSTALLING,
}


def phase_of_service(obj: Mapping[str, Any]) -> Phase:
    """Read an LLMService's phase; a deletionTimestamp, whoever set it, means uninstalling."""
    if obj["metadata"].get("deletionTimestamp"):
        return Phase.UNINSTALLING
    status = (obj.get("status") or {}).get("phase")
    return _OPERATOR_PHASES.get(str(status), Phase.PENDING)

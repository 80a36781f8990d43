"""What a release's lease says, and whether it still holds. Pure.

Whether a lease has run out is judged by one's own monotonic clock since one last saw it renewed, never by
comparing clocks of two machines.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from llm_operator.resources import Obj
from release_api.names import LOCK_LABEL, OPERATION, PLAN_VERSION, RELEASE_LABEL, Key, lock_ref, release_label


class Operation(StrEnum):
    """What a lease is held for."""

    APPLY = "apply"
    UNINSTALL = "uninstall"


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds: how long a lease holds, how often it is renewed, and when a holder who cannot gives up."""

    duration: float = 60.0

    @property
    def renew(self) -> float:
        """Return the time between renewals: 15 of 60 s."""
        return self.duration / 4

    @property
    def give_up(self) -> float:
        """Return after how long without a renewal a holder kills what it runs: 40 of 60 s."""
        return self.duration * 2 / 3


@dataclass(frozen=True, slots=True)
class Seen:
    """The renewal of a lease last seen, and when (own monotonic clock) it was first seen."""

    holder: str
    renewed: str
    duration: float
    operation: Operation
    at: float

    def expired(self, now: float) -> bool:
        """Say whether its holder let it run out."""
        return now - self.at > self.duration


def seen(obj: Mapping[str, Any], before: Seen | None, now: float) -> Seen:
    """Read a lease; its renewal counts from `before` when it is the same one."""
    spec = obj.get("spec") or {}
    holder, renewed = str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or "")
    same = before is not None and (before.holder, before.renewed) == (holder, renewed)
    annotations = obj["metadata"].get("annotations") or {}
    # One that says nothing is taken for the stricter: nobody may begin anything.
    uninstall = annotations.get(OPERATION) == Operation.UNINSTALL
    return Seen(
        holder=holder,
        renewed=renewed,
        duration=float(spec.get("leaseDurationSeconds") or 0),
        operation=Operation.UNINSTALL if uninstall else Operation.APPLY,
        at=before.at if same and before is not None else now,
    )


@dataclass(frozen=True, slots=True)
class Claim:
    """What a holder writes."""

    key: Key
    holder: str
    operation: Operation
    plan_version: str


def manifest(claim: Claim, terms: Terms, moment: str, version: str = "") -> Obj:
    """Write a lease; with `version` over the one that was read."""
    ref = lock_ref(claim.key)
    labels = {LOCK_LABEL: "true", RELEASE_LABEL: release_label(claim.key[1])}
    annotations = {OPERATION: str(claim.operation), PLAN_VERSION: claim.plan_version}
    meta: Obj = {"name": ref.name, "namespace": ref.namespace, "labels": labels, "annotations": annotations}
    meta |= {"resourceVersion": version} if version else {}
    spec = {
        "holderIdentity": claim.holder,
        "leaseDurationSeconds": max(round(terms.duration), 1),
        "acquireTime": moment,
        "renewTime": moment,
    }
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}

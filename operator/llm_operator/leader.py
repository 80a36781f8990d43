"""Leader election over one Lease, so that of several replicas one acts.

Whether a lease has run out is judged by this process's own monotonic clock since it last saw renewTime
change, never by comparing clocks of two machines. Who cannot renew in time stops before others may begin.
"""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import structlog

from llm_operator.kube import ApiError, Kube
from llm_operator.resources import LEASES, Obj, Ref


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds: how long a lease holds, within what a leader must have renewed it, and how often it tries."""

    duration: float
    renew_within: float
    retry: float

    @classmethod
    def of(cls, duration: float) -> "Terms":
        """Derive the usual proportions from the duration: 15 s are renewed within 10 s, tried every 2 s."""
        return cls(duration, duration * 2 / 3, duration * 2 / 15)


@dataclass(slots=True)
class _Seen:
    """The renewal last seen of another holder, and when (monotonic) it was first seen."""

    renewal: tuple[str, str] = ("", "")
    at: float = field(default=0.0)


class Leader:
    """Takes part in the election for one Lease as `identity`."""

    def __init__(self, kube: Kube, ref: Ref, identity: str, terms: Terms) -> None:
        """Prepare; nothing is written before `acquire`."""
        self._kube, self._ref, self._identity = kube, ref, identity
        self._terms = terms
        self._seen = _Seen()
        self._log = structlog.get_logger().bind(lease=ref.name, identity=identity)

    async def acquire(self) -> None:
        """Wait until the lease is ours."""
        while True:
            if await self._try():
                break
            await asyncio.sleep(self._terms.retry)
        self._log.info("became leader")

    async def hold(self) -> None:
        """Renew until that fails for too long, then return: the caller must stop acting at once."""
        renewed = time.monotonic()
        while time.monotonic() - renewed < self._terms.renew_within:
            await asyncio.sleep(self._terms.retry)
            began = time.monotonic()
            left = max(self._terms.renew_within - (began - renewed), 0.1)
            try:
                async with asyncio.timeout(left):
                    renewed = began if await self._try() else renewed
            except TimeoutError:
                break
        self._log.error("lost the lease: it could not be renewed in time")

    async def release(self) -> None:
        """Give the lease up, so that another replica need not wait for it to run out."""
        try:
            lease = await self._kube.get(self._ref)
            if lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                await self._kube.replace(self._ref, lease)
        except ApiError as error:
            self._log.warning("could not release the lease", error=str(error))

    async def _try(self) -> bool:
        """Take or renew the lease; every write is conditional, so of two who try one gets a 409."""
        try:
            lease = await self._kube.get(self._ref)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                return self._failed(error)
            lease = self._new()
        if lease["metadata"].get("resourceVersion") and not self._may_take(lease["spec"]):
            return False
        try:
            await self._write(lease)
        except ApiError as error:
            return self._failed(error)
        return True

    def _failed(self, error: ApiError) -> bool:
        self._log.warning("lease call failed", status=error.status, error=str(error))
        return False

    def _may_take(self, spec: Obj) -> bool:
        holder = spec.get("holderIdentity") or ""
        if holder in ("", self._identity):
            return True
        renewal = (holder, str(spec.get("renewTime")))
        if renewal != self._seen.renewal:
            self._seen = _Seen(renewal, time.monotonic())
            return False
        duration = float(spec.get("leaseDurationSeconds") or self._terms.duration)
        return time.monotonic() - self._seen.at > duration

    def _new(self) -> Obj:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._ref.name, "namespace": self._ref.namespace},
            "spec": {},
        }

    async def _write(self, lease: Obj) -> None:
        spec: dict[str, Any] = lease["spec"] or {}
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        taken_over = spec.get("holderIdentity") != self._identity
        spec |= {"holderIdentity": self._identity, "renewTime": now}
        spec |= {"leaseDurationSeconds": int(self._terms.duration)}
        if taken_over:
            spec |= {"acquireTime": now, "leaseTransitions": int(spec.get("leaseTransitions") or 0) + 1}
        lease["spec"] = spec
        if lease["metadata"].get("resourceVersion"):
            await self._kube.replace(self._ref, lease)
        else:
            await self._kube.create(LEASES, lease)

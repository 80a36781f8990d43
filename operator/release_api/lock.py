"""One writer a release, across all replicas: a lease that exists only while somebody holds it.

A try-lock: nobody queues. A holder that cannot renew is cancelled, which kills its helm, before others may
begin.
"""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus

import structlog

from llm_operator.clock import Clock
from llm_operator.kube import ApiError, Kube
from llm_operator.resources import LEASES, Obj, Selection, key_of
from release_api.lease import Claim, Operation, Seen, Terms, manifest, seen
from release_api.names import LOCK_LABEL, Key, lock_ref

TRIES = 3


def selection(namespace: str | None) -> Selection:
    """Return which leases are locks."""
    return Selection(LEASES, namespace, labels=LOCK_LABEL)


class BusyError(Exception):
    """Somebody else holds the lock; `operation` is what for."""

    def __init__(self, operation: Operation) -> None:
        """Say what is in progress."""
        super().__init__(f"{operation} in progress")
        self.operation = operation


class LockLostError(Exception):
    """The lock could not be renewed in time: what ran under it was stopped."""


class Leases:
    """The leases that a watch sees, and when each was last seen renewed."""

    def __init__(self, clock: Clock) -> None:
        """Start empty."""
        self._clock = clock
        self._seen: dict[Key, Seen] = {}

    def see(self, obj: Obj) -> Seen:
        """Note a lease as it is now."""
        key = key_of(obj)
        self._seen[key] = seen(obj, self._seen.get(key), self._clock.monotonic())
        return self._seen[key]

    def get(self, key: Key) -> Seen | None:
        """Return the lease of a release, None when there is none."""
        return self._seen.get((key[0], lock_ref(key).name))

    def expired(self, lease: Seen) -> bool:
        """Say whether a lease has run out."""
        return lease.expired(self._clock.monotonic())

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None = None) -> None:
        """Forget leases that were given up while nobody watched; of the others each keeps its moment."""
        for key in [key for key in self._seen if key not in keys and namespace in (None, key[0])]:
            del self._seen[key]

    def put(self, obj: Obj) -> None:
        """Take an added or changed lease."""
        self.see(obj)

    def drop(self, obj: Obj) -> None:
        """Forget a lease that was given up."""
        self._seen.pop(key_of(obj), None)


@dataclass(slots=True)
class Held:
    """A lock that we hold; `claim` is what the next renewal writes."""

    claim: Claim
    obj: Obj = field(default_factory=dict)
    lost: bool = False

    def about(self, plan_version: str) -> None:
        """Note the plan's version, for whoever has to take over."""
        self.claim = replace(self.claim, plan_version=plan_version)


class Locks:
    """Takes, renews and gives up leases as one replica."""

    def __init__(self, kube: Kube, identity: str, leases: Leases, terms: Terms | None = None) -> None:
        """Take part as `identity`, which no other process may ever have had."""
        self._kube, self._identity, self._leases = kube, identity, leases
        self._terms = terms or Terms()
        self._active: dict[Key, Held] = {}
        self._log = structlog.get_logger()

    def free(self, key: Key) -> bool:
        """Say whether, as far as the cache knows, nobody holds the lock. Only `hold` knows for sure."""
        if key in self._active:
            return False
        lease = self._leases.get(key)
        return lease is None or self._may_take(lease)

    @contextlib.asynccontextmanager
    async def hold(self, key: Key, operation: Operation, plan_version: str = "") -> AsyncIterator[Held]:
        """Hold the lock for the body. Raises BusyError, LockLostError, ApiError.

        A body that is cancelled leaves the lease to run out.
        """
        if key in self._active:
            raise BusyError(self._active[key].claim.operation)
        claim = Claim(key, f"{self._identity}/{uuid.uuid4().hex[:8]}", operation, plan_version)
        held = self._active[key] = Held(claim)
        try:
            held.obj = await self._take(claim)
            async with self._renewed(held):
                yield held
        finally:
            del self._active[key]

    @contextlib.asynccontextmanager
    async def _renewed(self, held: Held) -> AsyncIterator[None]:
        renewing: asyncio.Task[None] | None = None
        cancelled = False
        try:
            async with asyncio.timeout(None) as bound:
                renewing = asyncio.create_task(self._renew(held, bound))
                yield
        except asyncio.CancelledError:
            cancelled = True
            raise
        except TimeoutError:
            if held.lost:
                raise LockLostError("the lock could not be renewed in time") from None
            raise
        finally:
            if renewing is not None:
                renewing.cancel()
            if not (cancelled or held.lost):
                await self._give_up(held)

    async def _take(self, claim: Claim) -> Obj:
        """Create the lease, or take over one that has run out; of two who try one gets a 409."""
        try:
            return await self._kube.create(LEASES, manifest(claim, self._terms, _now()))
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
        try:
            found = await self._kube.get(lock_ref(claim.key))
            lease = self._leases.see(found)
            if not self._may_take(lease):
                raise BusyError(lease.operation)
            self._log.info(
                "taking a lock over", namespace=claim.key[0], release=claim.key[1], of=lease.holder
            )
            return await self._write(claim, found["metadata"]["resourceVersion"])
        except ApiError as error:
            if error.status in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND):
                raise BusyError(claim.operation) from error  # Given up or taken in this very moment.
            raise

    def _may_take(self, lease: Seen) -> bool:
        """Say whether a lease is nobody's: run out, or left by an earlier call of this very process."""
        return lease.holder.rpartition("/")[0] == self._identity or self._leases.expired(lease)

    async def _write(self, claim: Claim, version: str) -> Obj:
        return await self._kube.replace(lock_ref(claim.key), manifest(claim, self._terms, _now(), version))

    async def _renew(self, held: Held, bound: asyncio.Timeout) -> None:
        """Renew until cancelled; end the body when that fails for too long."""
        renewed, wait = time.monotonic(), self._terms.renew
        while (left := renewed + self._terms.give_up - time.monotonic()) > 0:
            await asyncio.sleep(min(wait, left))
            began = time.monotonic()
            try:
                async with asyncio.timeout(max(renewed + self._terms.give_up - began, 0.01)):
                    held.obj = await self._write(held.claim, held.obj["metadata"]["resourceVersion"])
                renewed, wait = began, self._terms.renew
            except (ApiError, TimeoutError) as error:
                self._log.warning("lock not renewed", key=held.claim.key, error=str(error))
                if isinstance(error, ApiError) and not await self._still_ours(held, error):
                    break
                wait = self._terms.renew / 5
        self._log.error("lock lost: what ran under it is stopped", key=held.claim.key)
        held.lost = True
        bound.reschedule(asyncio.get_running_loop().time())

    async def _still_ours(self, held: Held, error: ApiError) -> bool:
        """Say whether we may still hold a lease that could not be written; one that is gone is not ours."""
        if error.status == HTTPStatus.NOT_FOUND:
            return False
        if error.status != HTTPStatus.CONFLICT:
            return True
        try:
            found = await self._kube.get(lock_ref(held.claim.key))
        except ApiError as again:
            return again.status != HTTPStatus.NOT_FOUND
        held.obj = found
        return bool((found.get("spec") or {}).get("holderIdentity") == held.claim.holder)

    async def _give_up(self, held: Held) -> None:
        """Delete our lease. One that stays, because the server does not answer, runs out."""
        for _ in range(TRIES):
            meta = held.obj["metadata"]
            try:
                await self._kube.delete(
                    lock_ref(held.claim.key), uid=meta["uid"], version=meta["resourceVersion"]
                )
            except ApiError as error:
                if error.status != HTTPStatus.CONFLICT or not await self._still_ours(held, error):
                    if error.status != HTTPStatus.NOT_FOUND:
                        self._log.warning("lock not given up", key=held.claim.key, error=str(error))
                    return
            else:
                self._leases.drop(held.obj)
                return


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

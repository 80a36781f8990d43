"""What both backends do alike: hold the lock, refuse what is uninstalling, tell of what was done."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from http import HTTPStatus

from llm_operator.kube import ApiError
from release_api.audit import Event
from release_api.errors import ConflictError, UnavailableError
from release_api.lease import Operation
from release_api.lock import BusyError, Held, LockLostError
from release_api.models import AuditRow, Backend, Phase
from release_api.names import Key
from release_api.plan import Plan, PlanError, Status, User
from release_api.tools import Tools

UNINSTALLING = "uninstall in progress"
WRITES = 4
"""How often a record of what has happened is tried before the loop has to find it out."""


class Base:
    """Shared by the backends."""

    backend: Backend

    def __init__(self, tools: Tools) -> None:
        """Use the tools."""
        self.tools = tools

    @contextlib.asynccontextmanager
    async def locked(self, key: Key, operation: Operation) -> AsyncIterator[tuple[Plan | None, Held]]:
        """Hold the release's lock, with its plan as it is now. Raises BusyError, RefusedError, ApiError."""
        known = self.tools.state.plans.get(key)
        try:
            async with self.tools.locks.hold(key, operation, known.version if known else "") as held:
                try:
                    plan = await self.tools.book.read(key)
                except PlanError as error:
                    raise ConflictError(f"{error}: repair or delete it") from error
                held.about(plan.version if plan else "")
                yield plan, held
        except BusyError as error:
            self.tools.metrics.busy.labels(str(error.operation)).inc()
            raise
        except LockLostError as error:
            self.tools.metrics.locks_lost.inc()
            raise UnavailableError(
                f"{error}; what ran was stopped: look at the release and repeat"
            ) from error

    @contextlib.asynccontextmanager
    async def applying(self, key: Key) -> AsyncIterator[tuple[Plan | None, Held]]:
        """Hold the lock for an apply; refuse when somebody else holds it, or the release uninstalls."""
        try:
            async with self.locked(key, Operation.APPLY) as (plan, held):
                if plan is not None and plan.uninstalling:
                    raise ConflictError(UNINSTALLING)
                yield plan, held
        except BusyError as error:
            raise ConflictError(str(error)) from error

    def status(self, phase: Phase, by: User, message: str = "") -> Status:
        """Return a status that begins now."""
        return Status(phase, self.tools.clock.now(), by, message)

    async def record(self, plan: Plan, held: Held) -> Plan:
        """Write what has happened, under the lock; tried again, because helm cannot be undone by a retry.

        Raises ApiError.
        """
        for left in range(WRITES - 1, -1, -1):
            try:
                plan = await self.tools.book.write(plan)
            except ApiError as error:
                if not left or error.status == HTTPStatus.NOT_FOUND:
                    raise
                plan = await self._again(plan, WRITES - left)
            else:
                held.about(plan.version)
                break
        return plan

    async def _again(self, plan: Plan, tries: int) -> Plan:
        """Wait, and take the version that somebody else wrote meanwhile: it cannot have been one of us."""
        await asyncio.sleep(0.2 * tries)
        with contextlib.suppress(ApiError, PlanError):
            newest = await self.tools.book.read(plan.key)
            if newest is not None and newest.uid == plan.uid:
                return replace(plan, version=newest.version)
        return plan

    async def tell(self, event: Event, row: AuditRow) -> None:
        """Write an audit row, now or later."""
        await self.tools.auditor.note(event, row)

    def row(self, what: tuple[str, User], key: Key, result: str, detail: str = "") -> AuditRow:
        """Build an audit row of this moment."""
        return AuditRow(
            id="",
            at=self.tools.clock.now(),
            user=what[1].name,
            verb=what[0],
            namespace=key[0],
            release=key[1],
            backend=self.backend,
            result=result,
            detail=detail or None,
        )

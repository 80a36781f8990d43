"""The check loop: looks every 5 s, and whenever somebody reads, whether what uninstalls is really gone.

It runs on every replica, and nothing of it harms when it is done twice. What it looks after is in the stores,
so a restart knows as much as before.
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta

import structlog

from llm_operator.clock import Clock
from llm_operator.ending import finish
from llm_operator.kube import ApiError
from release_api.backends.helm import Helm
from release_api.backends.llmsvc import LLMSvc
from release_api.errors import RefusedError
from release_api.lock import BusyError
from release_api.models import Backend, Phase, phase_of_service
from release_api.names import Key
from release_api.plan import Plan, PlanError
from release_api.reap import Facts, Next, decide
from release_api.reaper import Reaper
from release_api.running import Running
from release_api.tools import Tools

EVERY = timedelta(seconds=5)
PARALLEL = 8
READ_WAIT = 0.5
"""Seconds that a read waits for checks; a slow API server delays no list."""


class Checks:
    """Looks after whatever uninstalls, or was left in the middle of something."""

    def __init__(self, tools: Tools, backends: tuple[Helm, LLMSvc], reaper: Reaper, changes: Running) -> None:
        """Act through the backends and the reaper; helm runs among the other changes."""
        self._tools, self._reaper, self._changes = tools, reaper, changes
        self._helm, self._llmsvc = backends
        self._running: dict[Key, asyncio.Task[None]] = {}
        self._stopping = False
        self._turns = asyncio.Semaphore(PARALLEL)
        self._log = structlog.get_logger()

    async def run(self) -> None:
        """Check for ever."""
        clock = self._tools.clock
        while True:
            due = clock.now() + EVERY
            await self.everything()
            await self._housekeeping()
            await _sleep_until(clock, due)

    async def drain(self, seconds: float) -> None:
        """Give running checks so long to end and give up their locks, and begin no other."""
        self._stopping = True
        await finish(self._running.values, seconds)

    async def everything(self) -> None:
        """Check each release that could need it; one that takes long delays no other's next check."""
        tasks = [self._start(key) for key in self._candidates()]
        if tasks:
            await asyncio.wait(tasks, timeout=EVERY.total_seconds())

    async def before_read(self, keys: Iterable[Key] | None = None) -> None:
        """Check those of these releases that look gone, so that what is read is true now."""
        state = self._tools.state
        wanted = [plan.key for plan in state.plans.uninstalling()] if keys is None else list(keys)
        due = [key for key in wanted if self._looks_gone(key)]
        due += [key for key in state.departed() if key not in due and (keys is None or key in wanted)]
        if due and not self._stopping:
            await asyncio.wait([self._start(key) for key in due], timeout=READ_WAIT)

    def _candidates(self) -> list[Key]:
        state = self._tools.state
        busy = (Phase.UNINSTALLING, Phase.INSTALLING)
        keys = {p.key for p in state.plans.all() if p.phase in busy or p.backend is Backend.LLMSVC}
        return sorted(keys | set(state.deleting))

    def _looks_gone(self, key: Key) -> bool:
        plan = self._tools.state.plans.get(key)
        if plan is None or decide(self._facts(plan)) is not Next.CONFIRM:
            return False
        return plan.backend is Backend.LLMSVC or not self._tools.state.remaining(plan.pods)

    def _facts(self, plan: Plan) -> Facts:
        state, key = self._tools.state, plan.key
        service = state.services.get(key)
        ours = service is not None and service["metadata"]["uid"] == plan.status.service_uid
        return Facts(
            backend=plan.backend,
            phase=plan.phase,
            lock_free=self._tools.locks.free(key),
            held=state.held(key),
            service=ours,
            service_deleting=ours and service is not None and phase_of_service(service) is Phase.UNINSTALLING,
            trusted=plan.trusted,
        )

    def _start(self, key: Key) -> asyncio.Task[None]:
        """Start a check, or join the one that runs."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._guarded(key))
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return task

    async def _guarded(self, key: Key) -> None:
        """Check one release; whatever fails is tried again by the next check."""
        try:
            await self._check(key)
        except (BusyError, RefusedError, PlanError) as error:
            self._log.info("check put off", key=key, reason=str(error))
        except ApiError as error:
            self._log.warning("check failed", key=key, status=error.status, error=str(error))
        except Exception:  # noqa: BLE001 - the loop outlives a fault in one release; tests look for the line
            self._log.exception("check failed: unhandled", key=key)

    async def _check(self, key: Key) -> None:
        state = self._tools.state
        plan, uid = state.plans.get(key), state.deleting.get(key)
        if plan is not None:
            await self._planned(plan)
        elif uid is not None and key in state.departed():
            async with self._turns:
                await self._reaper.without_plan(key, uid)
        if uid is not None and key in state.departed():
            state.deleting.pop(key, None)

    async def _planned(self, plan: Plan) -> None:
        helm = plan.backend is Backend.HELM
        match decide(self._facts(plan)):
            case Next.RESUME:
                await self._changes.run((self._helm if helm else self._llmsvc).resume(plan.key))
            case Next.SETTLE:
                await self._helm.settle(plan.key)
            case Next.CONFIRM:
                async with self._turns:
                    await (self._reaper.helm if helm else self._reaper.service)(plan.key)
            case Next.WAIT if not helm and plan.key in self._tools.state.deleting and not plan.uninstalling:
                await self._llmsvc.mark(plan.key)
            case Next.WAIT:
                pass

    async def _housekeeping(self) -> None:
        try:
            await self._tools.auditor.catch_up()
        except ApiError as error:
            self._log.warning("audit not caught up", status=error.status, error=str(error))
        phases = [plan.phase for plan in self._tools.state.plans.all()]
        for phase in Phase:
            self._tools.metrics.releases.labels(str(phase)).set(phases.count(phase))


async def _sleep_until(clock: Clock, due: datetime) -> None:
    """Sleep on the program's clock, which tests move."""
    while (left := clock.until(due)) > 0:  # noqa: ASYNC110 - a file that tests write has no event
        await asyncio.sleep(left)

"""One pass over one LLMService: observe, decide, write the status, then act.

The next pass sees what came of it.

A conflict on the status write means the object changed under us: it is read again and decided again, within
the pass.
"""

from collections.abc import Awaitable
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus

import structlog

from llm_operator import failpoints
from llm_operator.context import Context
from llm_operator.kube import ApiError
from llm_operator.records import newest
from llm_operator.resources import Key
from llm_operator.teardown import events
from llm_operator.teardown.actions import Actions, service_ref
from llm_operator.teardown.memory import Memory
from llm_operator.teardown.model import SKIPPED, Action, Decision, Facts, Phase, Reason
from llm_operator.teardown.observe import Caches, Observer
from llm_operator.teardown.release import Course, Do, Living, course, repairs
from llm_operator.teardown.spec import Service
from llm_operator.teardown.stages import WAIT, decide
from llm_operator.teardown.status import (
    condition,
    condition_reason,
    deleting_status,
    merge_conditions,
    release_status,
)

TRIES = 5
"""How often a pass is decided anew when others write the object at the same time."""


class Reconciler:
    """Runs passes; keeps the hints that one process has about each object."""

    def __init__(self, context: Context, caches: Caches, observer: Observer, actions: Actions) -> None:
        """Tie the reconciler to its parts."""
        self._kube, self._clock, self._metrics = context.kube, context.clock, context.metrics
        self._caches, self._observer, self._actions = caches, observer, actions
        self._memories: dict[Key, Memory] = {}
        self._log = structlog.get_logger()

    async def run(self, key: Key) -> datetime | None:
        """Run one pass; return the moment to come back. Never raises.

        What fails is logged and tried again after a wait.
        """
        try:
            due = await self._run(key)
        except ApiError as error:
            self._log.warning(
                "pass failed", namespace=key[0], name=key[1], status=error.status, error=str(error)
            )
            due = self._after(WAIT)
        except Exception:  # noqa: BLE001 - one broken object must not end the passes of all others
            self._log.exception("unhandled exception in a pass", service=_name(key))
            due = self._after(WAIT)
        if due is not None:
            self._metrics.requeues.inc()
        return due

    def stages(self) -> tuple[dict[str, int], int]:
        """Count teardowns by stage, and the pods they wait for."""
        counts: dict[str, int] = {}
        for memory in self._memories.values():
            if memory.stage:
                counts[memory.stage] = counts.get(memory.stage, 0) + 1
        return counts, sum(memory.pods for memory in self._memories.values())

    async def _run(self, key: Key) -> datetime | None:
        for _ in range(TRIES):
            work = self._work(key)
            try:
                return await work if work is not None else None
            except ApiError as error:
                if not error.raced:
                    raise
                await self._read_again(key)
        self._log.warning("pass lost every race", service=_name(key))
        return self._after(timedelta(seconds=1))

    def _work(self, key: Key) -> Awaitable[datetime | None] | None:
        """Begin one pass over an object as it is known now.

        Only the pass itself holds the object: while it waits for helm, the copy before its writes can go.
        """
        obj = self._caches.services.get(key)
        service = Service(obj) if obj is not None else None
        if service is None or (service.deleting and not service.held):
            self._memories.pop(key, None)
            return None  # Gone, or let go of: never touched again, whoever else still holds it.
        memory = self._memory(key, service)
        if memory.dropped:
            return None
        self._metrics.passes.labels("teardown" if service.deleting else "living").inc()
        return self._teardown(service, memory) if service.deleting else self._living(service, memory)

    def _after(self, wait: timedelta) -> datetime:
        return self._clock.now() + wait

    def _memory(self, key: Key, service: Service) -> Memory:
        """Return the hints about this object; one of the same name with another UID is another object."""
        memory = self._memories.get(key)
        if memory is None or memory.uid != service.uid:
            memory = self._memories[key] = Memory(service.uid)
        return memory

    async def _read_again(self, key: Key) -> None:
        obj = self._caches.services.get(key)
        if obj is None:
            return
        try:
            self._caches.services.keep(await self._kube.get(service_ref(Service(obj))))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            self._caches.services.drop(obj)

    async def _teardown(self, service: Service, memory: Memory) -> datetime | None:
        facts = await self._observer.deletion(service, memory)
        await self._catch_up(service, memory, facts)
        decision = decide(facts)
        service = await self._record(
            service, deleting_status(service.status, service.generation, decision, facts)
        )
        self._note_stage(memory, decision, facts)
        if decision.deletion is not None:
            failpoints.reach(f"recorded:{decision.deletion.stage}:{decision.reason}")
        await self._tell(service, memory, decision)
        if decision.action is not Action.NONE:
            failpoints.reach(f"acting:{decision.action}")
        worked = await self._actions.do(service, memory, decision, facts)
        if decision.action is not Action.NONE:
            failpoints.reach(f"acted:{decision.action}")
        if decision.action is Action.DROP_FINALIZER:
            self._finished(service, memory)
            return None
        if not worked:
            return self._after(WAIT)
        return _moment(facts.now, decision.requeue)

    async def _catch_up(self, service: Service, memory: Memory, facts: Facts) -> None:
        """Write the events that a process before us recorded and may not have told.

        And those of misread knobs.
        """
        reason, deletion = condition_reason(service.status, "Deleting"), service.status.get("deletion") or {}
        if reason is not None and facts.deletion is not None:
            await self._actions.tell(
                service, memory, events.transition(Reason(reason), deletion.get("message", ""))
            )
        for invalid in facts.knobs.invalid:
            await self._actions.tell(service, memory, events.invalid_annotation(invalid))

    async def _tell(self, service: Service, memory: Memory, decision: Decision) -> None:
        if decision.reason is not None:
            await self._actions.tell(service, memory, events.transition(decision.reason, decision.message))
        if decision.note:
            await self._actions.tell(service, memory, events.note(decision, service.generation))

    async def _record(self, service: Service, changes: dict[str, object]) -> Service:
        """Write the status, if it changes, on the version that was decided on. Raises ApiError."""
        if not changes:
            return service
        body = {"metadata": {"resourceVersion": service.meta["resourceVersion"]}, "status": changes}
        obj = await self._kube.merge(service_ref(service), body, "status")
        self._caches.services.keep(obj)
        return Service(obj)

    def _note_stage(self, memory: Memory, decision: Decision, facts: Facts) -> None:
        memory.pods = len(decision.left) if decision.left is not None else memory.pods
        if decision.deletion is None or decision.deletion.stage == memory.stage:
            return
        if memory.stage and memory.stage_since is not None:
            self._metrics.left_stage(memory.stage, facts.now - memory.stage_since)
        memory.stage, memory.stage_since = decision.deletion.stage, facts.now
        self._log.debug("stage", uid=memory.uid, stage=memory.stage)

    def _finished(self, service: Service, memory: Memory) -> None:
        outcome = (service.status.get("deletion") or {}).get("outcome", SKIPPED)
        self._metrics.finished.labels(outcome).inc()
        memory.dropped, memory.stage, memory.pods = True, "", 0
        self._log.info("released", namespace=service.namespace, name=service.name, outcome=outcome)

    async def _living(self, service: Service, memory: Memory) -> datetime | None:
        facts = Living(
            now=self._clock.now(),
            uid=service.uid,
            digest=service.digest,
            held=service.held,
            suspended=service.suspended,
            newest=self._observer.newest(service),
            tries=memory.tries,
        )
        plan = course(facts)
        if repairs(plan):
            facts = replace(facts, newest=newest(await self._observer.revisions(service)))
            plan = course(facts)
        service = await self._record(service, self._living_status(service, facts, plan))
        if plan.do is Do.ADD_FINALIZER:
            self._caches.services.keep(await self._actions.add_finalizer(service))
        elif plan.do is not Do.NOTHING:
            failpoints.reach(f"acting:{plan.do}")
            await self._actions.apply(service, memory, plan.do)
            failpoints.reach(f"acted:{plan.do}")
        return _moment(facts.now, plan.requeue)

    def _living_status(self, service: Service, facts: Living, plan: Course) -> dict[str, object]:
        if plan.phase is None:
            return {}
        wanted: dict[str, object] = {
            "phase": plan.phase,
            "observedGeneration": service.generation,
            "conditions": merge_conditions(
                service.status.get("conditions") or [],
                [condition("Ready", service.generation, plan.reason, plan.message, status=plan.ready)],
                facts.now,
            ),
        }
        if plan.phase is Phase.READY and facts.newest is not None:
            revision = facts.newest.version
            wanted["release"] = {"name": service.release, "revision": revision, "chart": service.chart_label}
        return release_status(service.status, wanted)


def _moment(decided_at: datetime, wait: timedelta | None) -> datetime | None:
    """Return when to come back: a decision counts its waits from the moment that it was decided for."""
    return None if wait is None else decided_at + wait


def _name(key: Key) -> str:
    return f"{key[0]}/{key[1]}"

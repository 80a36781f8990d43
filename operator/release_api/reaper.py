"""Cleans up after a release once the API server confirms that it is gone: the only place that drops a plan.

In this order, so that whatever fails is tried again by the next check: audit row, archives, autoscaling
policy, plan. All under the release's lock, with the plan read again.
"""

from dataclasses import replace
from http import HTTPStatus

from llm_operator.kube import ApiError
from llm_operator.pods import APP_LABEL, INSTANCE_LABEL, Pod, ReleaseName, pod_from_api, remaining
from llm_operator.pods import belongs as is_of
from llm_operator.records import Held
from llm_operator.resources import PODS, Obj, Selection
from release_api.audit import Event
from release_api.backends.helm import Helm
from release_api.backends.llmsvc import LLMSvc
from release_api.lease import Operation
from release_api.lock import Held as Lock
from release_api.models import AuditRow, Backend, Phase
from release_api.names import Key, autoscale_ref, service_ref
from release_api.plan import Plan, User
from release_api.tools import Tools

NOBODY = User("")
"""Who a row names when somebody deleted an LLMService past this API."""


class Reaper:
    """Confirms that releases are gone, and cleans up after them."""

    def __init__(self, tools: Tools, helm: Helm, llmsvc: LLMSvc) -> None:
        """Use both backends' locks and looks."""
        self._tools, self._helm, self._llmsvc = tools, helm, llmsvc
        self._cleared: set[str] = set()

    async def helm(self, key: Key) -> None:
        """Look whether a helm release is gone: no record and no pods.

        Raises BusyError, RefusedError, ApiError.
        """
        known = self._tools.state.plans.get(key)
        if known is None or (known.uid in self._cleared and self._remaining(known)):
            return
        async with self._helm.locked(key, Operation.UNINSTALL) as (plan, _):
            if plan is None or not plan.uninstalling or (await self._helm.look(key))[0] is not Held.GONE:
                return
            if plan.uid not in self._cleared:
                await self._tools.archives.clear(key)
                self._cleared.add(plan.uid)
            if self._remaining(plan) or await self._pods(plan.pods):
                return
            await self._clean(plan)

    async def service(self, key: Key) -> None:
        """Look whether the LLMService of a plan is gone: the object of its UID. Raises as above."""
        async with self._llmsvc.locked(key, Operation.UNINSTALL) as (plan, lock):
            if plan is None or plan.backend is not Backend.LLMSVC or not plan.status.service_uid:
                return
            found = await self._find(key)
            if found is None:
                await self._clean(plan)
            elif found["metadata"]["uid"] != plan.status.service_uid:
                await self._recreated(plan, lock, found)

    async def without_plan(self, key: Key, uid: str) -> None:
        """Clean up after an LLMService that this API never planned; its successor is left alone.

        Raises as above.
        """
        async with self._llmsvc.locked(key, Operation.UNINSTALL) as (plan, _):
            found = await self._find(key)
            if plan is not None or (found is not None and found["metadata"]["uid"] == uid):
                return
            await self._tools.auditor.write(Event(uid, "removed"), self._row(key, Backend.LLMSVC, NOBODY))
            if found is None:
                await self._clear(key)

    async def _recreated(self, plan: Plan, lock: Lock, found: Obj) -> None:
        """Leave a successor alone: the plan is now about that one."""
        row = self._row(plan.key, plan.backend, plan.status.by or NOBODY)
        await self._tools.auditor.write(Event(plan.status.service_uid, "removed"), row)
        status = self._llmsvc.status(Phase.APPLIED, plan.user)
        status = replace(status, service_uid=found["metadata"]["uid"])
        await self._llmsvc.record(plan.with_status(status), lock)

    async def _clean(self, plan: Plan) -> None:
        uid = plan.status.service_uid or plan.uid
        row = self._row(plan.key, plan.backend, plan.status.by or NOBODY)
        await self._tools.auditor.write(Event(uid, "removed"), row)
        await self._clear(plan.key)
        await self._tools.book.delete(plan)
        self._cleared.discard(plan.uid)
        self._tools.metrics.reaped.labels(str(plan.backend)).inc()

    async def _clear(self, key: Key) -> None:
        await self._tools.archives.clear(key)
        try:
            await self._tools.kube.delete(autoscale_ref(key))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    def _remaining(self, plan: Plan) -> bool:
        """Say whether pods remain as far as the cache knows; one that cannot be trusted knows of some."""
        return not self._tools.state.pods_fresh or bool(self._tools.state.remaining(plan.pods))

    async def _pods(self, release: ReleaseName) -> tuple[Pod, ...]:
        """List the release's pods on the API server: the cache may not have seen the newest yet."""
        found: dict[str, Pod] = {}
        for labels in (f"{INSTANCE_LABEL}={release.name}", f"{APP_LABEL}={release.app}"):
            objects, _ = await self._tools.kube.list(Selection(PODS, release.namespace, labels))
            found |= {pod.uid: pod for pod in map(pod_from_api, objects) if is_of(pod, release)}
        return remaining(found.values(), self._tools.state.nodes.ready, self._tools.clock.now())

    async def _find(self, key: Key) -> Obj | None:
        """Find an LLMService; that its kind is not served is an error, not an absence."""
        try:
            return await self._tools.kube.get(service_ref(key))
        except ApiError as error:
            if error.object_missing:
                return None
            raise

    def _row(self, key: Key, backend: Backend, user: User) -> AuditRow:
        owner = self._helm if backend is Backend.HELM else self._llmsvc
        return owner.row(("uninstall", user), key, "removed")

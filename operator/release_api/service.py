"""The releases: picks the backend of a request, asks whether the caller may, and lets the backend act."""

import asyncio
from collections.abc import Mapping
from typing import Any

from llm_operator.kube import ApiError
from llm_operator.records import RecordError
from llm_operator.resources import CONFIGMAPS, Obj
from release_api.auth import Ask, Gate
from release_api.backends.applied import Applied
from release_api.backends.helm import Helm
from release_api.backends.llmsvc import LLMSvc
from release_api.errors import ConflictError, ForbiddenError, MissingError, RefusedError
from release_api.lease import Operation
from release_api.lock import BusyError
from release_api.models import IN_PROGRESS, Backend, Change, Install, Outcome, Phase, phase_of_service
from release_api.names import SERVICES, Key, plan_ref
from release_api.plan import Plan, User
from release_api.scaling import Known, Scaled
from release_api.tools import Tools
from release_api.views import Facts, pods_of

LOOKS, LOOK = 25, 0.2
"""How often, and after how many seconds, a DELETE tries again that met a check at its look."""

_VERBS = {
    "get": ("get", "get"),
    "install": ("create", "create"),
    "upgrade": ("update", "patch"),
    "rollback": ("update", "patch"),
    "uninstall": ("delete", "delete"),
}
"""What a request stands for: the verb on the plan, and on the LLMService."""


class Releases:
    """Every release, whatever its backend. Also what the autoscaler knows of them (`scaling.Scalable`)."""

    def __init__(self, tools: Tools, gate: Gate, helm: Helm, llmsvc: LLMSvc) -> None:
        """Use both backends."""
        self.tools, self._gate = tools, gate
        self._backends: Mapping[Backend, Helm | LLMSvc] = {Backend.HELM: helm, Backend.LLMSVC: llmsvc}
        self._applied = Applied(tools)
        self._holds: dict[Key, str] = {}

    async def install(self, key: Key, body: Install, user: User) -> Outcome:
        """Install a release. Raises RefusedError, ApiError."""
        await self.authorise(user, "install", key, body.backend)
        return await self._backends[body.backend].install(key, body, user)

    async def upgrade(self, key: Key, body: Change, user: User) -> Outcome:
        """Upgrade a release. Raises RefusedError, ApiError."""
        backend = await self._backend(user, "upgrade", key)
        return await backend.upgrade(key, body, user)

    async def rollback(self, key: Key, revision: int | None, user: User) -> Outcome:
        """Roll a release back. Raises RefusedError, ApiError."""
        backend = await self._backend(user, "rollback", key)
        return await backend.rollback(key, revision, user)

    async def uninstall(self, key: Key, user: User) -> Outcome:
        """Uninstall a release; one that is being uninstalled is no error. Raises RefusedError, ApiError."""
        backend = await self._backend(user, "uninstall", key)
        for left in range(LOOKS, -1, -1):
            try:
                return await backend.uninstall(key, user)
            except BusyError as error:
                if error.operation is not Operation.UNINSTALL:
                    raise ConflictError(str(error)) from error
            if self._goes_on(key):
                break  # Else a check only looks, under the lock: what it sees, it may leave to this request.
            await asyncio.sleep(LOOK if left else 0)
        return Outcome(
            namespace=key[0],
            release=key[1],
            backend=backend.backend,
            phase=Phase.UNINSTALLING,
            output=IN_PROGRESS,
        )

    async def authorise(self, user: User, what: str, key: Key, backend: Backend | None) -> None:
        """Raise ForbiddenError unless the caller may do to plan or LLMService what the request stands for."""
        if self.tools.state.namespace not in (None, key[0]):
            raise MissingError(f"this server looks after namespace {self.tools.state.namespace} only")
        verb = _VERBS[what][backend is Backend.LLMSVC]
        if backend is Backend.LLMSVC:
            ask = Ask(verb, SERVICES, *key)
        else:
            ask = Ask(verb, CONFIGMAPS, key[0], plan_ref(key).name)
        if not await self._gate.may(user, ask):
            raise ForbiddenError(f"{user.name} may not {ask}")

    def backend_of(self, key: Key) -> Backend | None:
        """Return the backend of a release, None where nothing is there."""
        plan = self.tools.state.plans.get(key)
        if plan is not None:
            return plan.backend
        return Backend.LLMSVC if self.tools.state.services.get(key) is not None else None

    async def _backend(self, user: User, what: str, key: Key) -> Helm | LLMSvc:
        """Return the release's backend to whoever may; one who may not does not learn what is there."""
        backend = self.backend_of(key)
        if backend is None:  # Another replica may have made it in this moment.
            found = await self.tools.book.read(key)
            backend = found.backend if found is not None else None
        await self.authorise(user, what, key, backend)
        if backend is None:
            raise MissingError("there is no such release")
        return self._backends[backend]

    def keys(self) -> list[Key]:
        """Return the key of everything that is listed."""
        state = self.tools.state
        keys = {plan.key for plan in state.plans.all()}
        keys |= {(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in state.services.all()}
        return sorted(keys)

    def facts(self, key: Key) -> Facts | None:
        """Gather what memory knows of a release; None where nothing is there."""
        state = self.tools.state
        plan, service = state.plans.get(key), state.services.get(key)
        if plan is None and service is None:
            return None
        if _recreated(plan, service):
            plan = None  # It is about the one before; the next check puts it right.
        helm = plan is not None and plan.backend is Backend.HELM
        names = plan.pods if plan is not None else None
        if service is not None and not helm:
            names = pods_of(service)
        return Facts(
            key=key,
            plan=plan,
            service=None if helm else service,
            revision=state.revision(key) if helm else None,
            pods=state.remaining(names) if names is not None else (),
            pods_fresh=state.pods_fresh,
            hold=self._holds.get(key),
        )

    # For the autoscaler.

    def known(self) -> list[Known]:
        """Return every release, from memory."""
        return [found for key in self.keys() if (found := self.find(key)) is not None]

    def find(self, key: Key) -> Known | None:
        """Return one release, from memory."""
        state = self.tools.state
        plan, service = state.plans.get(key), state.services.get(key)
        if plan is None and service is None:
            return None
        backend = self.backend_of(key) or Backend.LLMSVC
        uninstalling = _uninstalls(plan, service)
        if uninstalling:
            phase = Phase.UNINSTALLING
        elif service is not None and backend is Backend.LLMSVC:
            phase = phase_of_service(service)
        else:
            phase = plan.phase if plan is not None else Phase.PENDING
        return Known(key, backend, phase, uninstalling, plan)

    def _goes_on(self, key: Key) -> bool:
        """Say whether memory shows an uninstall that comes to its end without another request."""
        plan, service = self.tools.state.plans.get(key), self.tools.state.services.get(key)
        return _uninstalls(plan if plan is not None and plan.trusted else None, service)

    def hold(self, key: Key, reason: str | None) -> None:
        """Set what the row shows as holdReason; None takes it away."""
        before = self._holds.get(key)
        if reason is None:
            self._holds.pop(key, None)
        else:
            self._holds[key] = reason
        if before != reason:
            self.tools.state.plans.generation += 1

    async def values(self, key: Key) -> Mapping[str, Any] | None:
        """Return the values that are applied now; None when they cannot be told. Never raises."""
        backend = self.backend_of(key)
        try:
            return await self._applied.values(key, backend) if backend is not None else None
        except (ApiError, RecordError):
            return None

    async def scale(self, key: Key, values: Mapping[str, Any]) -> Scaled:
        """Apply values over those that are applied, as the user in the plan. Never raises."""
        plan = self.tools.state.plans.get(key)
        if plan is None:
            return Scaled(applied=False, refused="no plan: nobody is named to act for")
        try:
            await self.authorise(plan.user, "upgrade", key, plan.backend)
            done = await self._backends[plan.backend].scale(plan, values)
        except BusyError as error:
            return Scaled(applied=False, refused=str(error))
        except RefusedError as error:
            return Scaled(applied=False, refused=error.detail)
        except ApiError as error:
            return Scaled(applied=False, error=f"the API server does not comply: {error.status}")
        failed = done.phase is Phase.FAILED
        return Scaled(applied=not failed, error=done.output if failed else "")


def _uninstalls(plan: Plan | None, service: Obj | None) -> bool:
    """Say whether a plan or an LLMService says that the release is being uninstalled."""
    if service is not None and phase_of_service(service) is Phase.UNINSTALLING:
        return True
    return plan is not None and plan.uninstalling and not _recreated(plan, service)


def _recreated(plan: Plan | None, service: Obj | None) -> bool:
    """Say whether an LLMService is a successor of the one that a plan is about."""
    if plan is None or service is None or plan.backend is not Backend.LLMSVC or not plan.status.service_uid:
        return False
    return bool(service["metadata"]["uid"] != plan.status.service_uid)

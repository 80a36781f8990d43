"""The llmsvc backend: writes LLMServices; their controller installs releases and takes them down."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import structlog

from llm_operator.api import API_VERSION, KIND
from llm_operator.kube import ApiError
from llm_operator.resources import Obj
from release_api.archives import Archive
from release_api.audit import Event
from release_api.backends.base import UNINSTALLING, Base
from release_api.backends.helm import trusted
from release_api.errors import ConflictError, InvalidError, MissingError
from release_api.lease import Operation
from release_api.lock import Held as Lock
from release_api.models import (
    IN_PROGRESS,
    Backend,
    Change,
    ChartSource,
    Outcome,
    Phase,
    phase_of_service,
)
from release_api.names import SERVICES, Key, service_ref
from release_api.plan import Plan, Status, User

MISSING = "there is no such LLMService"


class LLMSvc(Base):
    """Creates, changes and deletes LLMServices."""

    backend = Backend.LLMSVC

    async def install(self, key: Key, change: Change, user: User) -> Outcome:
        """Create an LLMService. Raises RefusedError, ApiError."""
        async with self.applying(key) as (found, lock):
            if found is not None:
                raise ConflictError("the release is there already: change it with PUT, or delete it first")
            status = self.status(Phase.INSTALLING, user)
            plan = await self.tools.book.create(Plan(key, self.backend, change.chart, user, status))
            try:
                service = await self.tools.kube.create(SERVICES, _manifest(key, change))
            except ApiError as error:
                await self.tools.book.delete(plan)
                raise _explained(error) from error
            return await self._done(plan, lock, service, ("install", user, change))

    async def upgrade(self, key: Key, change: Change, user: User) -> Outcome:
        """Change an LLMService's chart and values. Raises RefusedError, ApiError."""
        async with self.applying(key) as (plan, lock):
            service = await self._alive(key)
            return await self._patch(plan, lock, service, ("upgrade", user, change))

    async def rollback(self, key: Key, revision: int | None, user: User) -> Outcome:
        """Put an LLMService back to what an archive says. Raises RefusedError, ApiError."""
        async with self.applying(key) as (plan, lock):
            service = await self._alive(key)
            archives = await self.tools.archives.all(key)
            present = int(service["metadata"].get("generation") or 0)
            older = [a for a in archives if a.revision == (revision or a.revision) and a.revision < present]
            if not older:
                there = ", ".join(str(archive.revision) for archive in archives) or "none"
                raise InvalidError(f"there is no such revision to go back to; archived are: {there}")
            change = Change(chart=older[0].chart, values=older[0].values)
            return await self._patch(plan, lock, service, ("rollback", user, change))

    async def scale(self, plan: Plan, values: Mapping[str, Any]) -> Outcome:
        """Merge values into an LLMService's, for the user in its plan. Raises RefusedError, ApiError."""
        async with self.applying(plan.key) as (found, _):
            if found is None:
                raise MissingError(MISSING)
            user = trusted(found).user
            service = await self._alive(plan.key)
            patch = {"metadata": {"resourceVersion": service["metadata"]["resourceVersion"]}}
            await self._write(service, patch | {"spec": {"values": dict(values)}})
            row = self.row(("autoscale", user), plan.key, "done")
            version = service["metadata"]["resourceVersion"]
            await self.tell(Event(service["metadata"]["uid"], f"autoscale@{version}"), row)
            return self._outcome(plan.key, phase_of_service(service), "scaled")

    async def uninstall(self, key: Key, user: User) -> Outcome:
        """Delete an LLMService and return at once. Raises BusyError, RefusedError, ApiError."""
        async with self.locked(key, Operation.UNINSTALL) as (plan, lock):
            service = await self._find(key)
            tracked = plan is not None and plan.uninstalling and _is(service, plan.status.service_uid)
            if tracked or (service is not None and phase_of_service(service) is Phase.UNINSTALLING):
                return self._outcome(key, Phase.UNINSTALLING, IN_PROGRESS)
            if service is None:
                raise MissingError(MISSING)
            await self._delete(plan, lock, service, user)
            return self._outcome(key, Phase.UNINSTALLING, IN_PROGRESS)

    async def resume(self, key: Key) -> None:
        """Delete an LLMService whose plan was marked by a server that died before it did. Raises as above."""
        async with self.locked(key, Operation.UNINSTALL) as (plan, lock):
            service = await self._find(key)
            if plan is None or not plan.uninstalling or service is None:
                return
            if service["metadata"]["uid"] == plan.status.service_uid:
                user = trusted(plan).status.by or plan.user
                await self._delete(plan, lock, service, user)

    async def mark(self, key: Key) -> None:
        """Note in the plan that somebody else has deleted the LLMService: its end may come while we are down.

        Raises as above.
        """
        async with self.locked(key, Operation.UNINSTALL) as (plan, lock):
            service = await self._find(key)
            if plan is None or plan.uninstalling or service is None:
                return
            if service["metadata"].get("deletionTimestamp"):
                await self.record(plan.with_status(self._marked(service, None)), lock)

    def _marked(self, service: Obj, user: User | None) -> Status:
        status = Status(Phase.UNINSTALLING, self.tools.clock.now(), user)
        return replace(status, service_uid=service["metadata"]["uid"])

    async def _delete(self, plan: Plan | None, lock: Lock, service: Obj, user: User) -> None:
        """Mark the plan, then delete; where nothing is there to delete, the plan is put back as it was."""
        key = (service["metadata"]["namespace"], service["metadata"]["name"])
        uid = service["metadata"]["uid"]
        marked = None
        if plan is not None:
            marked = await self.record(plan.with_status(self._marked(service, user)), lock)
        try:
            await self.tools.kube.delete(service_ref(key), uid=uid)
        except ApiError as error:
            if plan is not None and marked is not None:
                await self.record(replace(plan, version=marked.version), lock)
            if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise MissingError(MISSING) from error
            raise
        self.tools.state.deleting[key] = uid
        await self.tell(Event(uid, "uninstall"), self.row(("uninstall", user), key, "started"))

    async def _patch(
        self, plan: Plan | None, lock: Lock, service: Obj, what: tuple[str, User, Change]
    ) -> Outcome:
        """Replace chart and values; values of before are not merged."""
        operations: list[Obj] = [
            {
                "op": "test",
                "path": "/metadata/resourceVersion",
                "value": service["metadata"]["resourceVersion"],
            },
            {"op": "add", "path": "/spec/chart", "value": _chart(what[2].chart)},
            {"op": "add", "path": "/spec/values", "value": what[2].values},
        ]
        try:
            key = (service["metadata"]["namespace"], service["metadata"]["name"])
            changed = await self.tools.kube.json_patch(service_ref(key), operations)
        except ApiError as error:
            raise _explained(error) from error
        return await self._done(plan, lock, changed, what)

    async def _done(
        self, plan: Plan | None, lock: Lock, service: Obj, what: tuple[str, User, Change]
    ) -> Outcome:
        """Record what the API server has taken; the controller goes on with it."""
        self.tools.state.services.put(service)
        meta = service["metadata"]
        key, (verb, user, change) = (meta["namespace"], meta["name"]), what
        if plan is not None:
            status = replace(self.status(Phase.APPLIED, user), service_uid=meta["uid"])
            await self.record(plan.applied_by(user, change.chart, status), lock)
        generation = int(meta.get("generation") or 0)
        event = Event(meta["uid"], f"{verb}@{meta['resourceVersion']}")
        await self.tell(event, self.row((verb, user), key, "done"))
        try:
            await self.tools.archives.save(key, Archive(generation, change.chart, change.values))
        except ApiError as error:
            structlog.get_logger().warning("archive not written", key=key, error=str(error))
        output = f"generation {generation} is the controller's to apply"
        return self._outcome(key, phase_of_service(service), output)

    async def _write(self, service: Obj, patch: Obj) -> None:
        key = (service["metadata"]["namespace"], service["metadata"]["name"])
        try:
            self.tools.state.services.put(await self.tools.kube.merge(service_ref(key), patch))
        except ApiError as error:
            raise _explained(error) from error

    async def _find(self, key: Key) -> Obj | None:
        try:
            return await self.tools.kube.get(service_ref(key))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _alive(self, key: Key) -> Obj:
        service = await self._find(key)
        if service is None:
            raise MissingError(MISSING)
        if phase_of_service(service) is Phase.UNINSTALLING:
            raise ConflictError(UNINSTALLING)
        return service

    def _outcome(self, key: Key, phase: Phase, output: str) -> Outcome:
        return Outcome(namespace=key[0], release=key[1], backend=self.backend, phase=phase, output=output)


def _is(service: Obj | None, uid: str) -> bool:
    """Say whether an LLMService is the one of a UID, or gone; a successor is neither."""
    return service is None or service["metadata"]["uid"] == uid


def _manifest(key: Key, change: Change) -> Obj:
    meta = {"name": key[1], "namespace": key[0]}
    spec = {"chart": _chart(change.chart), "values": change.values}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": spec}


def _chart(chart: ChartSource) -> Obj:
    return chart.model_dump(by_alias=True, exclude_defaults=True)


def _explained(error: ApiError) -> Exception:
    """Turn what the API server says of the object into a refusal; anything else stays what it is."""
    if error.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
        causes = (error.body.get("details") or {}).get("causes") or []
        fields = ", ".join(str(cause.get("field")) for cause in causes)
        return InvalidError(f"the API server does not take the LLMService{': ' + fields if fields else ''}")
    if error.status == HTTPStatus.CONFLICT:
        return ConflictError("somebody else has changed the LLMService in this moment: look, and repeat")
    return error

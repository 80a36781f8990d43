"""The helm backend: runs helm as the caller, and records in the plan what it does before it does it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import orjson
import structlog

from llm_operator.charts import Apply, Target
from llm_operator.helm import Result, tidy
from llm_operator.kube import ApiError
from llm_operator.lookup import revisions
from llm_operator.records import Held, RecordError, decode, holds, newest
from llm_operator.resources import SECRETS, Ref
from release_api import masks
from release_api.archives import Archive
from release_api.audit import Event
from release_api.backends.base import Base
from release_api.errors import ConflictError, InvalidError, MissingError
from release_api.lease import Operation
from release_api.lock import Held as Lock
from release_api.models import IN_PROGRESS, Backend, Change, ChartSource, Outcome, Phase
from release_api.names import RELEASE_LABEL, Key, release_label
from release_api.plan import Plan, User, helm_chart

TIMEOUT = timedelta(minutes=5)
AUTOSCALE = "autoscale"


@dataclass(frozen=True, slots=True)
class _Run:
    """One apply: its verb, who asked, and what came of it."""

    verb: str
    user: User
    result: Result
    archive: Archive | None = None


class Helm(Base):
    """Installs, upgrades, rolls back and uninstalls with helm."""

    backend = Backend.HELM

    async def install(self, key: Key, change: Change, user: User) -> Outcome:
        """Install a release. Raises RefusedError, ApiError."""
        async with self.applying(key) as (found, lock):
            status = self.status(Phase.INSTALLING, user)
            wanted = Plan(key, self.backend, change.chart, user, status)
            plan = replace(await self._claim(found, wanted), trusted=True)
            lock.about(plan.version)
            result = await self._apply("install", plan, change.values, user)
            return await self._settled(plan, lock, _Run("install", user, result, _archive(change)))

    async def upgrade(self, key: Key, change: Change, user: User) -> Outcome:
        """Upgrade a release. Raises RefusedError, ApiError."""
        async with self.applying(key) as (found, lock):
            plan = _there(found)
            if change.chart.name != plan.chart.name:
                raise InvalidError(f"the release is of chart {plan.chart.name}: delete it to install another")
            wanted = plan.applied_by(user, change.chart, self.status(Phase.INSTALLING, user))
            plan = await self.record(wanted, lock)
            result = await self._apply("upgrade", plan, change.values, user)
            return await self._settled(plan, lock, _Run("upgrade", user, result, _archive(change)))

    async def rollback(self, key: Key, revision: int | None, user: User) -> Outcome:
        """Roll a release back. Raises RefusedError, ApiError."""
        async with self.applying(key) as (found, lock):
            plan = trusted(_there(found))
            wanted = replace(plan, user=user).with_status(self.status(Phase.INSTALLING, user))
            plan = await self.record(wanted, lock)
            result = await self.tools.helm.rollback(self._target(key, user), TIMEOUT, revision)
            if not result.error:
                plan = replace(plan, chart=await self._present_chart(plan))
            return await self._settled(plan, lock, _Run("rollback", user, result))

    async def scale(self, plan: Plan, values: Mapping[str, Any]) -> Outcome:
        """Apply values over those of a release, as the user in its plan.

        Raises RefusedError, ApiError.
        """
        async with self.applying(plan.key) as (found, lock):
            plan = _there(found)
            if plan.phase is not Phase.APPLIED:
                raise ConflictError(f"the release is {plan.phase}")
            user = trusted(plan).user
            plan = await self.record(plan.with_status(self.status(Phase.INSTALLING, user)), lock)
            result = await self._apply("upgrade", plan, values, user, reuse=True)
            return await self._settled(plan, lock, _Run(AUTOSCALE, user, result))

    async def uninstall(self, key: Key, user: User) -> Outcome:
        """Uninstall a release, as the caller. Raises BusyError, RefusedError, ApiError."""
        async with self.locked(key, Operation.UNINSTALL) as (found, lock):
            plan = _there(found)
            if plan.uninstalling:
                return await self._repeated(plan, lock, user)
            marked = plan.with_status(self.status(Phase.UNINSTALLING, user))
            return await self._uninstall(await self.record(marked, lock), lock, user)

    async def _repeated(self, plan: Plan, lock: Lock, user: User) -> Outcome:
        """Go on where an uninstall was left whose lock is free: its server died, or helm is done."""
        held, _ = await self.look(plan.key)
        if held is Held.HELD:
            status = replace(plan.status, by=user)
            done = await self._uninstall(await self.record(plan.with_status(status), lock), lock, user)
            if done.phase is Phase.FAILED:
                return done
        elif held is Held.GONE:
            await self.tools.archives.clear(plan.key)
        return self._outcome(plan, Phase.UNINSTALLING, IN_PROGRESS)

    async def resume(self, key: Key) -> None:
        """Go on with an uninstall whose server died, as whoever asked for it. Raises as `uninstall`."""
        async with self.locked(key, Operation.UNINSTALL) as (plan, lock):
            if plan is None or not plan.uninstalling or (await self.look(key))[0] is not Held.HELD:
                return
            user = trusted(plan).status.by or plan.user
            await self._uninstall(plan, lock, user)

    async def settle(self, key: Key) -> None:
        """Find out what became of an apply whose server died. Raises as `uninstall`."""
        async with self.locked(key, Operation.APPLY) as (plan, lock):
            if plan is None or plan.phase is not Phase.INSTALLING:
                return
            found = newest(await revisions(self.tools.kube, *key))
            done = found is not None and found.status == "deployed"
            message = "" if done else f"interrupted: {_hint(found.status if found else 'nothing')}"
            phase = Phase.APPLIED if done else Phase.FAILED
            user = plan.status.by or plan.user
            await self.record(plan.with_status(self.status(phase, user, message)), lock)

    async def look(self, key: Key) -> tuple[Held, str]:
        """Ask the API server whether helm holds a release: held, gone, or unknown and why."""
        try:
            found = newest(await revisions(self.tools.kube, *key))
        except ApiError as error:
            return Held.UNKNOWN, f"its records cannot be listed: {error}"
        return (Held.HELD if holds(found) else Held.GONE), ""

    async def _claim(self, plan: Plan | None, wanted: Plan) -> Plan:
        """Take the name: create the plan, or take over that of an install that left nothing."""
        if plan is None:
            if self.tools.state.services.get(wanted.key) is not None:
                raise ConflictError("the name is taken by an LLMService")
            try:
                return await self.tools.book.create(wanted)
            except ApiError as error:
                if error.status == HTTPStatus.CONFLICT:
                    raise ConflictError("the name is taken") from error
                raise
        state = self.tools.state
        left = not state.pods_fresh or bool(state.remaining(plan.pods))
        left = left or (await self.look(plan.key))[0] is not Held.GONE
        if plan.phase is not Phase.FAILED or plan.backend is not self.backend or left:
            raise ConflictError("the release is there already: upgrade it with PUT, or delete it first")
        wanted = replace(wanted, uid=plan.uid, version=plan.version, trusted=True)
        return await self.tools.book.write(wanted)

    async def _uninstall(self, plan: Plan, lock: Lock, user: User) -> Outcome:
        """Run helm for a plan that is marked; the plan stays, its end is the check loop's to find."""
        result = await self.tools.helm.uninstall(self._target(plan.key, user), TIMEOUT)
        error = await self._really_missing(plan.key) if result.not_found else result.error
        error = await self._masked(plan.key, error)
        self._count("uninstall", error)
        row = self.row(("uninstall", user), plan.key, "failed" if error else "started", error)
        await self.tell(Event(plan.uid, f"uninstall@{plan.version}"), row)
        if error:
            await self.record(plan.with_status(self.status(Phase.FAILED, user, error)), lock)
            return self._outcome(plan, Phase.FAILED, error)
        try:
            await self.tools.archives.clear(plan.key)
        except ApiError as failure:  # The check loop does it again.
            structlog.get_logger().warning("archives not cleared", key=plan.key, error=str(failure))
        output = result.output or f'release "{plan.key[1]}" was gone already'
        return self._outcome(plan, Phase.UNINSTALLING, output)

    async def _really_missing(self, key: Key) -> str:
        """Say what is wrong when helm does not find a release: it says so of an unreadable record too."""
        held, why = await self.look(key)
        if held is Held.GONE:
            return ""
        return f"helm does not find the release, but {why or 'its record is there: unreadable'}"

    async def _apply(
        self, verb: str, plan: Plan, values: Mapping[str, Any], user: User, *, reuse: bool = False
    ) -> Result:
        labels = {RELEASE_LABEL: release_label(plan.key[1])}
        secrets = _secrets(plan.key, values)
        apply = Apply((orjson.dumps(values),), labels, TIMEOUT, reuse_values=reuse, secrets=secrets)
        run = self.tools.helm.install if verb == "install" else self.tools.helm.upgrade
        return await run(self._target(plan.key, user), helm_chart(plan.chart), apply)

    async def _settled(self, plan: Plan, lock: Lock, run: _Run) -> Outcome:
        """Record how an apply ended. One by the autoscaler that failed leaves the release applied."""
        error = await self._masked(plan.key, run.result.error)
        self._count(run.verb, error)
        phase = Phase.FAILED if error and run.verb != AUTOSCALE else Phase.APPLIED
        event = Event(plan.uid, f"{run.verb}@{plan.version}")
        plan = await self.record(plan.with_status(self.status(phase, run.user, error)), lock)
        await self.tell(event, self.row((run.verb, run.user), plan.key, "failed" if error else "done", error))
        revision = await self._revision(plan.key)
        if run.archive is not None and revision is not None and not error:
            await self._archive(plan.key, replace(run.archive, revision=revision))
        output = error or f'release "{plan.key[1]}" is at revision {revision}'
        return self._outcome(plan, Phase.FAILED if error else phase, output, revision)

    async def _revision(self, key: Key) -> int | None:
        """Return the revision that helm has come to, None where it cannot be told."""
        try:
            found = newest(await revisions(self.tools.kube, *key))
        except ApiError:
            return None
        return found.version if found is not None and holds(found) else None

    async def _masked(self, key: Key, error: str) -> str:
        """Take texts out of helm's error that stand in the values of any revision: they may be secret."""
        if not error:
            return ""
        try:
            archives = await self.tools.archives.all(key)
        except ApiError as failure:
            return f"helm failed; what it said is held back, as the archives cannot be read: {failure}"
        return tidy(error, _secrets(key, *(archive.values for archive in archives)))

    async def _archive(self, key: Key, archive: Archive) -> None:
        try:
            await self.tools.archives.save(key, archive)
        except ApiError as error:
            structlog.get_logger().warning("archive not written", key=key, error=str(error))

    async def _present_chart(self, plan: Plan) -> ChartSource:
        """Find the chart that a rollback brought back: its archive's, else its version in helm's record."""
        try:
            found = newest(await revisions(self.tools.kube, *plan.key))
            if found is None:
                return plan.chart
            record = decode(await self.tools.kube.get(Ref(SECRETS, found.namespace, found.secret)))
            for archive in await self.tools.archives.all(plan.key):
                if archive.chart.version == record.chart_version:
                    return archive.chart
        except (ApiError, RecordError) as error:
            structlog.get_logger().warning("chart after a rollback unknown", key=plan.key, error=str(error))
            return plan.chart
        return plan.chart.model_copy(update={"version": record.chart_version})

    def _target(self, key: Key, user: User) -> Target:
        return Target(*key, user.name, user.groups) if self.tools.impersonate else Target(*key)

    def _count(self, verb: str, error: str) -> None:
        self.tools.metrics.helm.labels(verb, "failed" if error else "succeeded").inc()

    def _outcome(self, plan: Plan, phase: Phase, output: str, revision: int | None = None) -> Outcome:
        return Outcome(
            namespace=plan.key[0],
            release=plan.key[1],
            backend=self.backend,
            phase=phase,
            output=output,
            revision=revision,
        )


def trusted(plan: Plan) -> Plan:
    """Return a plan that this server wrote; nobody is acted for by the word of one that it did not."""
    if not plan.trusted:
        raise ConflictError("the plan was changed by somebody else: the server acts for nobody named in it")
    return plan


def _hint(status: str) -> str:
    """Say what helm says of an apply that was interrupted, and the way out."""
    way = {"pending-upgrade": ": roll it back", "pending-rollback": ": roll it back"}
    return f"helm says {status}{way.get(status, ': delete the release, or apply it again')}"


def _there(plan: Plan | None) -> Plan:
    if plan is None:
        raise MissingError("there is no such release")
    return plan


def _secrets(key: Key, *values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple({text for some in values for text in masks.texts(dict(some))} - set(key))


def _archive(change: Change) -> Archive:
    return Archive(0, change.chart, change.values)

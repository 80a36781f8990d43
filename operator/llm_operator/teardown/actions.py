"""Does what a decision asks for: the only module that changes the cluster.

Every action may be repeated without harm.
"""

from datetime import timedelta
from http import HTTPStatus

import structlog

from llm_operator.api import DIGEST_LABEL, FINALIZER, GROUP, OWNER_LABEL, PLURAL, VERSION
from llm_operator.charts import Apply
from llm_operator.context import Context
from llm_operator.helm import Helm, Result
from llm_operator.kube import ApiError
from llm_operator.pods import Pod
from llm_operator.resources import EVENTS, PODS, Obj, Ref, Resource
from llm_operator.routes import Route
from llm_operator.teardown import events
from llm_operator.teardown.events import Event
from llm_operator.teardown.memory import Memory
from llm_operator.teardown.model import Action, Attempt, Decision, Facts
from llm_operator.teardown.observe import Observer, route_ref
from llm_operator.teardown.release import Do, Tries
from llm_operator.teardown.spec import Service
from llm_operator.teardown.stages import helm_timeout
from llm_operator.teardown.values import ValuesError, read_values

SERVICES = Resource(GROUP, VERSION, PLURAL)
APPLY_TIMEOUT = timedelta(minutes=5)
TRIES = 5
"""How often a finalizer patch is tried within one pass when others write the object at the same time."""


def service_ref(service: Service) -> Ref:
    """Return where an LLMService lies."""
    return Ref(SERVICES, service.namespace, service.name)


class Actions:
    """Carries out decisions for the reconciler."""

    def __init__(self, context: Context, helm: Helm, observer: Observer) -> None:
        """Tie the actions to what they write to."""
        self._kube, self._clock, self._metrics = context.kube, context.clock, context.metrics
        self._helm, self._observer = helm, observer
        self._log = structlog.get_logger()

    async def do(self, service: Service, memory: Memory, decision: Decision, facts: Facts) -> bool:
        """Carry out a teardown's decision.

        Return whether it worked (what did not is tried again after a wait).
        """
        match decision.action:
            case Action.DELETE_ROUTES:
                return await self._delete_routes(facts.routes.unasked)
            case Action.UNINSTALL:
                await self._uninstall(service, memory, decision, facts)
            case Action.FORCE_DELETE:
                for pod in decision.force:
                    await self._force_delete(service, memory, pod)
            case Action.DROP_FINALIZER:
                await self.drop_finalizer(service)
            case Action.NONE:
                pass
        return True

    async def tell(self, service: Service, memory: Memory, event: Event) -> None:
        """Write an event, once. Events are best effort: a terminating namespace refuses them."""
        if (event.reason, event.key) in memory.told:
            return
        memory.told.add((event.reason, event.key))
        try:
            await self._kube.create(EVENTS, events.manifest(event, service.obj, self._clock.now()))
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                self._log.warning(
                    "event not written", service=service.name, reason=event.reason, error=str(error)
                )

    async def add_finalizer(self, service: Service) -> Obj:
        """Put our finalizer on, if the object is still as it was read. Raises ApiError (raced.

        Read it again).
        """
        version = {
            "op": "test",
            "path": "/metadata/resourceVersion",
            "value": service.meta["resourceVersion"],
        }
        one = {"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER}
        first = {"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]}
        return await self._kube.json_patch(
            service_ref(service), [version, one if service.finalizers else first]
        )

    async def drop_finalizer(self, service: Service) -> None:
        """Take our finalizer off, and only ours: the patch names its place and tests that it stands there."""
        for left in range(TRIES, 0, -1):
            try:
                await self._kube.json_patch(service_ref(service), _without_finalizer(service))
            except ApiError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    return
                if not error.raced or left == 1:
                    raise
                again = await self._read_again(service)
                if again is None:
                    return
                service = again
            else:
                return

    async def _read_again(self, service: Service) -> Service | None:
        """Read an object that changed under us; None when there is nothing of ours left to take off it."""
        try:
            again = Service(await self._kube.get(service_ref(service)))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return again if again.uid == service.uid and again.held else None

    async def apply(self, service: Service, memory: Memory, do: Do) -> None:
        """Install, upgrade or repair the release; how it went is remembered for the next pass."""
        try:
            result = await self._apply(service, do)
        except ValuesError as error:
            result = Result(error=str(error))
        self._count(do, result)
        failures = (
            memory.tries.failures if memory.tries is not None and memory.tries.digest == service.digest else 0
        )
        if result.error:
            tries = Tries(service.digest, failures + 1, result.error, self._clock.now())
            self._log.warning(
                "helm failed", service=service.name, namespace=service.namespace, error=result.error
            )
        else:
            tries = Tries(service.digest, ended_at=self._clock.now(), revision=result.revision() or 0)
        memory.tries = tries

    async def _apply(self, service: Service, do: Do) -> Result:
        if do is Do.CLEAN:
            result = await self._helm.uninstall(service.target, APPLY_TIMEOUT)
            return Result() if result.not_found else result
        if do is Do.ROLLBACK:
            return await self._helm.rollback(service.target, APPLY_TIMEOUT)
        values, secrets = await read_values(self._kube, service)
        labels = {OWNER_LABEL: service.uid, DIGEST_LABEL: service.digest}
        release = Apply(values, labels, APPLY_TIMEOUT, secrets=secrets)
        run = self._helm.install if do is Do.INSTALL else self._helm.upgrade
        return await run(service.target, service.chart, release)

    async def _delete_routes(self, routes: tuple[Route, ...]) -> bool:
        """Ask each route to go; whether it went is the next pass's to see."""
        worked = True
        for route in routes:
            try:
                await self._kube.delete(route_ref(route))
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    self._log.warning("ModelRoute not deleted", route=str(route), error=str(error))
                    worked = False
        return worked

    async def _uninstall(self, service: Service, memory: Memory, decision: Decision, facts: Facts) -> None:
        if decision.deletion is None:
            return
        result = await self._helm.uninstall(service.target, helm_timeout(facts, decision.deletion))
        error = await self._really_missing(service) if result.not_found else result.error
        self._count(Action.UNINSTALL, Result(error=error))
        memory.attempt = Attempt(error, self._clock.now())
        if error:
            self._log.warning(
                "helm uninstall failed", service=service.name, namespace=service.namespace, error=error
            )
            await self.tell(service, memory, events.uninstall_failed(error))

    async def _really_missing(self, service: Service) -> str:
        """Say what is wrong when helm does not find a release.

        It says so too of one whose record it cannot read.
        """
        try:
            revisions = await self._observer.revisions(service)
        except ApiError as error:
            return f"helm does not find the release, and its records cannot be listed: {error}"
        if revisions:
            return (
                f"helm does not find the release, but its Secret {revisions[0].secret} is there: unreadable"
            )
        return ""

    async def _force_delete(self, service: Service, memory: Memory, pod: Pod) -> None:
        await self.tell(service, memory, events.pod_force_deleted(pod))
        try:
            await self._kube.delete(Ref(PODS, pod.namespace, pod.name), uid=pod.uid, grace=0)
        except ApiError as error:
            if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                return  # Gone, or another pod of the same name.
            self._log.warning(
                "pod not force deleted", pod=pod.name, namespace=pod.namespace, error=str(error)
            )
            if error.status == HTTPStatus.FORBIDDEN:
                memory.refused.add(pod.uid)
                await self.tell(service, memory, events.force_delete_refused(pod, str(error)))

    def _count(self, verb: str, result: Result) -> None:
        self._metrics.helm.labels(verb, "failed" if result.error else "succeeded").inc()


def _without_finalizer(service: Service) -> list[Obj]:
    path = f"/metadata/finalizers/{service.finalizers.index(FINALIZER)}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": service.uid},
        {"op": "test", "path": path, "value": FINALIZER},
        {"op": "remove", "path": path},
    ]

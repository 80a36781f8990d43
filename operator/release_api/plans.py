"""The plans: what the watch keeps of them in memory, and the one place that writes them.

Every write is conditional on the version that was read, so a writer that lost its lock meanwhile writes
nothing.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from http import HTTPStatus

import structlog

from llm_operator.kube import ApiError, Kube
from llm_operator.resources import CONFIGMAPS, Obj, Selection, key_of
from release_api.names import PHASE_LABEL, Key, plan_ref
from release_api.plan import Plan, PlanError, from_api, to_api
from release_api.seal import Seal


def selection(namespace: str | None) -> Selection:
    """Return which ConfigMaps are plans."""
    return Selection(CONFIGMAPS, namespace, labels=PHASE_LABEL)


class Plans:
    """Plans by release, fed by a watch and by our own writes; `generation` grows with every change."""

    def __init__(self, seal: Seal) -> None:
        """Start empty."""
        self._seal = seal
        self._plans: dict[Key, Plan] = {}
        self._by_object: dict[Key, Key] = {}
        self._uninstalling: set[Key] = set()
        self.generation = 0
        self._log = structlog.get_logger()

    def get(self, key: Key) -> Plan | None:
        """Return the newest copy known."""
        return self._plans.get(key)

    def all(self) -> Iterable[Plan]:
        """Return every plan."""
        return list(self._plans.values())

    def uninstalling(self) -> list[Plan]:
        """Return the plans whose phase is uninstalling."""
        return [self._plans[key] for key in self._uninstalling]

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None = None) -> None:
        """Forget plans that went while nobody watched; one of our own that came meanwhile was put as well."""
        for key in [key for key in self._by_object if key not in keys and namespace in (None, key[0])]:
            self.forget(self._by_object[key])

    def put(self, obj: Obj) -> None:
        """Take a ConfigMap; one that cannot be read is logged and is nobody's plan."""
        try:
            self.keep(from_api(obj, self._seal))
        except PlanError as error:
            self._log.warning("plan not read", namespace=obj["metadata"]["namespace"], error=str(error))

    def keep(self, plan: Plan) -> None:
        """Take a plan unless a newer copy of it is known, as after a write of our own."""
        old = self._plans.get(plan.key)
        if old is not None and int(old.version) >= int(plan.version):
            return
        self._plans[plan.key] = plan
        self._by_object[plan.key[0], plan_ref(plan.key).name] = plan.key
        (self._uninstalling.add if plan.uninstalling else self._uninstalling.discard)(plan.key)
        self.generation += 1

    def drop(self, obj: Obj) -> None:
        """Forget a plan, unless a successor of the same name is already known."""
        key = self._by_object.get(key_of(obj))
        old = self._plans.get(key) if key is not None else None
        if key is None or old is None or int(old.version) > int(obj["metadata"]["resourceVersion"]):
            return
        self.forget(key)

    def forget(self, key: Key) -> None:
        """Forget a plan that we have deleted ourselves."""
        self._plans.pop(key, None)
        self._by_object.pop((key[0], plan_ref(key).name), None)
        self._uninstalling.discard(key)
        self.generation += 1


class Book:
    """Reads plans past the cache, and writes them. Every method raises ApiError; a lost race is a 409."""

    def __init__(self, kube: Kube, seal: Seal, plans: Plans) -> None:
        """Tie the book to the cache that learns of its writes."""
        self._kube, self._seal, self._plans = kube, seal, plans

    async def read(self, key: Key) -> Plan | None:
        """Read a plan from the API server; None when there is none. Raises PlanError too."""
        try:
            plan = from_api(await self._kube.get(plan_ref(key)), self._seal)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            self._plans.forget(key)
            return None
        self._plans.keep(plan)
        return plan

    async def create(self, plan: Plan) -> Plan:
        """Create a plan; 409 when the release has one. Its seal comes with the first write."""
        return self._kept(await self._kube.create(CONFIGMAPS, to_api(plan, self._seal)))

    async def write(self, plan: Plan) -> Plan:
        """Write a plan over the version that it was read from; labels and fields of others stay."""
        return self._kept(await self._kube.merge(plan_ref(plan.key), to_api(plan, self._seal)))

    async def delete(self, plan: Plan) -> None:
        """Delete a plan as it was read; one that is gone already is deleted too."""
        try:
            await self._kube.delete(plan_ref(plan.key), uid=plan.uid, version=plan.version)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        self._plans.forget(plan.key)

    def _kept(self, obj: Obj) -> Plan:
        plan = from_api(obj, self._seal)
        self._plans.keep(plan)
        return plan

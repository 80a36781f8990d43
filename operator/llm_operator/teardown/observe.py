"""Reads what one decision needs: mostly from memory, from the API server only where memory cannot know.

In a clean teardown that is one GET of the release's record and one GET per ModelRoute and look. Whether a
release is gone is never believed from the cache alone: it may lag behind a write of our own.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus

from llm_operator.context import Context
from llm_operator.kube import ApiError
from llm_operator.lookup import revisions
from llm_operator.pods import Pod
from llm_operator.records import (
    Held,
    RecordError,
    Revision,
    decode,
    holds,
    newest,
)
from llm_operator.resources import SECRETS, Obj, Ref, Resource
from llm_operator.routes import PLURAL, ManifestRoutes, Route, routes_from_manifest
from llm_operator.stores import Nodes, Pods, Revisions, Services
from llm_operator.teardown.knobs import read_knobs
from llm_operator.teardown.memory import Memory
from llm_operator.teardown.model import Deletion, Facts, Release, Routes, Stage
from llm_operator.teardown.release import ours
from llm_operator.teardown.spec import Service

_ROUTE_STAGES = (None, Stage.ROUTE_REMOVING)


@dataclass(slots=True)
class Caches:
    """The stores, and whether the streams stand that feed a namespace's pods, and nodes."""

    services: Services
    pods: Pods
    nodes: Nodes
    revisions: Revisions
    pods_fresh: Callable[[str], bool]


class Observer:
    """Turns an LLMService in deletion into the facts of one decision."""

    def __init__(self, context: Context, caches: Caches) -> None:
        """Tie the observer to its sources."""
        self._kube, self._caches, self._clock = context.kube, caches, context.clock

    async def deletion(self, service: Service, memory: Memory) -> Facts:
        """Observe one LLMService in deletion. Failing calls become facts.

        Only a status that is not ours raises.
        """
        facts = Facts(
            now=self._clock.now(),
            knobs=read_knobs(service.annotations, service.spec.get("deletion") or {}),
            deletion=Deletion.from_status(service.status),
            suspended=service.suspended,
            nodes=self._caches.nodes.ready,
            attempt=memory.attempt,
            refused=frozenset(memory.refused),
            release_name=service.release,
        )
        if facts.suspended or facts.knobs.orphan:
            return facts
        stage = facts.deletion.stage if facts.deletion else None
        if facts.deletion is not None and facts.deletion.uninstalled_at is not None:
            return replace(facts, pods=self._pods(service))
        if stage in _ROUTE_STAGES:
            return await self._with_routes(service, memory, facts)
        if memory.attempt is not None and not memory.attempt.error:
            return facts  # helm has just said that it is done: the next look is at the pods.
        if stage is Stage.UNINSTALLING:
            return replace(facts, release=(await self._release(service))[0])
        return replace(facts, release=self._cached(service) or Release(Held.HELD))

    async def revisions(self, service: Service) -> tuple[Revision, ...]:
        """Read the release's revisions from the API server, past the cache. Raises ApiError."""
        return await revisions(self._kube, service.namespace, service.release)

    def newest(self, service: Service) -> Revision | None:
        """Return the newest revision that the cache knows."""
        return newest(self._caches.revisions.of(service.namespace, service.release))

    def _pods(self, service: Service) -> tuple[Pod, ...] | None:
        return self._caches.pods.of(service.pods) if self._caches.pods_fresh(service.namespace) else None

    def _cached(self, service: Service) -> Release | None:
        """Return what the cache knows of a release that helm holds."""
        revision = self.newest(service)
        return _held(revision, service) if revision is not None and holds(revision) else None

    async def _release(self, service: Service) -> tuple[Release, tuple[Revision, ...]]:
        """Say whether helm holds the release, and by which revisions.

        That it does not is never left to the cache.
        """
        known = self._caches.revisions.of(service.namespace, service.release)
        if not holds(newest(known)):
            try:
                known = await self.revisions(service)
            except ApiError as error:
                return Release(Held.UNKNOWN, detail=f"its records cannot be listed: {error}"), ()
        last = newest(known)
        return (_held(last, service) if last is not None and holds(last) else Release(Held.GONE)), known

    async def _with_routes(self, service: Service, memory: Memory, facts: Facts) -> Facts:
        release, revisions = await self._release(service)
        if release.held is not Held.HELD or not release.ours:
            return replace(facts, release=release)
        try:
            named = await self._manifest_routes(revisions, memory)
        except (ApiError, RecordError) as error:
            return replace(facts, release=Release(Held.UNKNOWN, detail=str(error)))
        if facts.deletion is None:
            routes = Routes(len(named.routes), named.routes, named.routes)
        else:
            routes = await self._look(named)
        return replace(facts, release=release, routes=routes)

    async def _manifest_routes(self, revisions: tuple[Revision, ...], memory: Memory) -> ManifestRoutes:
        """Read the routes from the newest record.

        And from the deployed one where the newest did not get that far.
        """
        wanted = [r for r in (newest(revisions), newest(r for r in revisions if r.status == "deployed")) if r]
        key = ",".join(f"{r.secret}@{r.resource_version}" for r in wanted)
        if memory.routes is not None and memory.routes[0] == key:
            return memory.routes[1]
        found: set[Route] = set()
        broken = 0
        for namespace, secret in dict.fromkeys((r.namespace, r.secret) for r in wanted):
            record = decode(await self._kube.get(Ref(SECRETS, namespace, secret)))
            routes = routes_from_manifest(record.manifest, record.namespace)
            found.update(routes.routes)
            broken += routes.broken
        memory.routes = (key, ManifestRoutes(tuple(sorted(found)), broken))
        return memory.routes[1]

    async def _look(self, named: ManifestRoutes) -> Routes:
        """See which routes are still there; an error is neither 'there' nor 'gone'."""
        left: list[Route] = []
        unasked: list[Route] = []
        errors: list[str] = []
        looks = [self._find(route) for route in named.routes]
        for route, found in zip(
            named.routes, await asyncio.gather(*looks, return_exceptions=True), strict=True
        ):
            if isinstance(found, ApiError):
                errors.append(f"{route}: {found}")
            elif isinstance(found, BaseException):
                raise found
            elif found is not None:
                there, obj = found
                left.append(there)
                unasked += [] if obj["metadata"].get("deletionTimestamp") else [there]
        return Routes(len(named.routes), tuple(left), tuple(unasked), "; ".join(sorted(errors)))

    async def _find(self, route: Route) -> tuple[Route, Obj] | None:
        """Find a route, also where its kind is now served in another version only; None when it is gone."""
        try:
            return route, await self._kube.get(route_ref(route))
        except ApiError as error:
            if error.object_missing:
                return None
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        for version in await self._versions(route):
            try:
                other = replace(route, version=version)
                return other, await self._kube.get(route_ref(other))
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
        return None

    async def _versions(self, route: Route) -> list[str]:
        """Return the other versions in which a route's group is served.

        None when it is not installed at all.
        """
        try:
            group = await self._kube.get_path(f"/apis/{route.group}")
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return []
        return [v["version"] for v in group.get("versions") or [] if v["version"] != route.version]


def route_ref(route: Route) -> Ref:
    """Return where a route lies."""
    return Ref(Resource(route.group, route.version, PLURAL), route.namespace, route.name)


def _held(revision: Revision, service: Service) -> Release:
    if ours(revision, service.uid):
        return Release(Held.HELD)
    detail = f"helm release {service.release} was not installed by this LLMService: it is left as it is"
    return Release(Held.HELD, ours=False, detail=detail)

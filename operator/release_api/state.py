"""What the watches keep in memory: all that a list or a look needs, so that neither calls the server."""

import asyncio
from collections.abc import Set as AbstractSet

from llm_operator.clock import Clock
from llm_operator.kube import Kube
from llm_operator.pods import Pod, ReleaseName, remaining
from llm_operator.records import SECRET_TYPE, SELECTOR, Held, Revision, holds, newest
from llm_operator.resources import NODES, PODS, SECRETS, Obj, Selection
from llm_operator.stores import Nodes, Pods, Revisions, Services
from llm_operator.watch import ListWatch, Store
from release_api import lock, plans
from release_api.audit import Auditor, Audits
from release_api.lock import Leases
from release_api.names import SERVICES, Key
from release_api.plans import Plans
from release_api.seal import Seal


class Counted:
    """A store, and how often it changed."""

    def __init__(self, store: Store) -> None:
        """Wrap a store."""
        self._store = store
        self.generation = 0

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None = None) -> None:
        """Forget what went while nobody watched."""
        self.generation += 1
        self._store.keep_only(keys, namespace)

    def put(self, obj: Obj) -> None:
        """Take an object."""
        self.generation += 1
        self._store.put(obj)

    def drop(self, obj: Obj) -> None:
        """Forget an object."""
        self.generation += 1
        self._store.drop(obj)


class State:
    """The stores."""

    def __init__(self, clock: Clock, seal: Seal) -> None:
        """Start empty."""
        self._clock = clock
        self.plans, self.leases, self.audits = Plans(seal), Leases(clock), Audits()
        self.services = Services(self._service_changed)
        self.pods, self.nodes, self.revisions = Pods(), Nodes(), Revisions()
        self.namespace: str | None = None
        """The one that is looked after, None for all."""
        self.deleting: dict[Key, str] = {}
        """The UIDs of LLMServices that were seen deleting, until what they leave behind is cleaned up."""
        self._counted: list[Counted] = []
        self._watches: dict[str, ListWatch] = {}

    def feed(self, kube: Kube, auditor: Auditor, namespace: str | None = None) -> None:
        """Prepare the watches, of one namespace or all; nothing is asked before `run`."""
        self.namespace = namespace
        records = Selection(SECRETS, namespace, SELECTOR, f"type={SECRET_TYPE}", metadata_only=True)
        sources: dict[str, tuple[Selection, Store]] = {
            "plans": (plans.selection(namespace), self.plans),
            "services": (Selection(SERVICES, namespace), self.services),
            "pods": (Selection(PODS, namespace), self.pods),
            "nodes": (Selection(NODES), self.nodes),
            "revisions": (records, self.revisions),
            "leases": (lock.selection(namespace), self.leases),
            "audits": (auditor.selection, self.audits),
        }
        for name, (selection, store) in sources.items():
            counted = Counted(store)
            self._watches[name] = ListWatch(kube, selection, counted)
            if name not in ("leases", "audits"):  # Neither shows in a row.
                self._counted.append(counted)

    @property
    def generation(self) -> int:
        """A number that changes with everything that a row could show."""
        return self.plans.generation + sum(counted.generation for counted in self._counted)

    @property
    def synced(self) -> bool:
        """Whether every collection was read once."""
        return bool(self._watches) and all(watch.synced.is_set() for watch in self._watches.values())

    @property
    def pods_fresh(self) -> bool:
        """Whether the streams that feed pods and nodes stand."""
        return self._watches["pods"].fresh and self._watches["nodes"].fresh

    async def run(self) -> None:
        """Keep the stores up to date."""
        await asyncio.gather(*(watch.run() for watch in self._watches.values()))

    async def wait(self) -> None:
        """Wait until every collection was read once."""
        await asyncio.gather(*(watch.synced.wait() for watch in self._watches.values()))

    def revision(self, key: Key) -> Revision | None:
        """Return the newest revision that helm holds of a release, as far as the cache knows."""
        found = newest(self.revisions.of(*key))
        return found if holds(found) else None

    def held(self, key: Key) -> Held:
        """Say whether helm holds a release, as far as the cache knows."""
        if not self._watches["revisions"].fresh:
            return Held.UNKNOWN
        return Held.HELD if self.revision(key) is not None else Held.GONE

    def remaining(self, release: ReleaseName) -> tuple[Pod, ...]:
        """Return the pods of a release that still count, as far as the cache knows."""
        return remaining(self.pods.of(release), self.nodes.ready, self._clock.now())

    def departed(self) -> set[Key]:
        """Return which of those are gone, or have a successor."""
        return {key for key, uid in self.deleting.items() if _uid(self.services.get(key)) != uid}

    def _service_changed(self, key: Key) -> None:
        service = self.services.get(key)
        if service is not None and service["metadata"].get("deletionTimestamp"):
            self.deleting[key] = service["metadata"]["uid"]


def _uid(obj: Obj | None) -> str:
    return str(obj["metadata"]["uid"]) if obj is not None else ""

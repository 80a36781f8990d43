"""The four collections that the controller watches, and the stores that they feed.

Of namespaced collections each namespace that is looked after is a list-watch of its own, so that permissions
in those namespaces are enough, and one whose stream is down holds up only its own services.
"""

import asyncio
from collections.abc import Callable, Sequence

from llm_operator.api import GROUP, PLURAL, VERSION
from llm_operator.kube import Kube
from llm_operator.records import SECRET_TYPE, SELECTOR
from llm_operator.resources import NODES, PODS, SECRETS, Key, Resource, Selection, key_of
from llm_operator.stores import Nodes, Pods, Revisions, Services
from llm_operator.teardown.observe import Caches
from llm_operator.watch import ListWatch

OnChange = Callable[[Key], None]


class Sources:
    """Feeds the caches until cancelled; `on_change` is told each LLMService that came, changed or went."""

    def __init__(self, kube: Kube, namespaces: Sequence[str] = ()) -> None:
        """Prepare the watches of these namespaces, without any of all; nothing is asked before `run`."""
        self.on_change: OnChange = _nobody
        services = Services(self._changed)
        pods, nodes, revisions = Pods(), Nodes(), Revisions()
        self._nodes = ListWatch(kube, Selection(NODES), nodes)
        self._pods: dict[str | None, ListWatch] = {}
        self._watches = [self._nodes]
        for namespace in dict.fromkeys(namespaces) or (None,):
            records = Selection(SECRETS, namespace, SELECTOR, f"type={SECRET_TYPE}", metadata_only=True)
            self._pods[namespace] = ListWatch(kube, Selection(PODS, namespace), pods)
            self._watches += [
                ListWatch(kube, Selection(Resource(GROUP, VERSION, PLURAL), namespace), services),
                self._pods[namespace],
                ListWatch(kube, records, revisions),
            ]
        self.caches = Caches(services, pods, nodes, revisions, self._pods_fresh)

    def _changed(self, key: Key) -> None:
        self.on_change(key)

    def _pods_fresh(self, namespace: str) -> bool:
        watch = self._pods.get(namespace) or self._pods[None]
        return watch.fresh and self._nodes.fresh

    @property
    def synced(self) -> bool:
        """Whether every collection was read once."""
        return all(watch.synced.is_set() for watch in self._watches)

    async def wait(self) -> None:
        """Wait until every collection was read once."""
        await asyncio.gather(*(watch.synced.wait() for watch in self._watches))

    async def run(self) -> None:
        """Keep the caches up to date."""
        await asyncio.gather(*(watch.run() for watch in self._watches))

    def services(self) -> list[Key]:
        """Return the key of every LLMService known."""
        return [key_of(obj) for obj in self.caches.services.all()]


def _nobody(_key: Key) -> None:
    """Nobody acts before the election."""

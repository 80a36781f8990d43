"""List and watch: keeps a store equal to a collection, through every way in which a watch can end.

An outdated version (410) is listed again; a busy (429), slow or dead server is tried again with a growing
wait; a stream that ends in good order goes on where it stopped. While the stream is down the store is not
`fresh`.
"""

import asyncio
import random
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

import structlog

from llm_operator.kube import OPENED, ApiError, Kube
from llm_operator.resources import Key, Obj, Selection, key_of

FIRST_WAIT = 0.2
LONGEST_WAIT = 15.0
GONE = 410
SHORT_STREAM = 1.0
"""Seconds: a stream that ends sooner is waited out like a failure, or a broken proxy would make us spin."""


class Store(Protocol):
    """What a list-watch feeds."""

    def put(self, obj: Obj) -> None:
        """Take an added or changed object."""

    def drop(self, obj: Obj) -> None:
        """Forget a deleted object."""

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None) -> None:
        """Forget what has none of these keys, of one namespace or all: it went while nobody watched."""


@dataclass(slots=True)
class Backoff:
    """Waits that double, with jitter, so that many watches do not come back at the same moment."""

    wait: float = FIRST_WAIT

    def next(self) -> float:
        """Return the next wait in seconds."""
        wait, self.wait = self.wait, min(self.wait * 2, LONGEST_WAIT)
        return wait * random.uniform(0.75, 1.25)  # noqa: S311 - jitter, not cryptography

    def reset(self) -> None:
        """Start over after a success."""
        self.wait = FIRST_WAIT


class ListWatch:
    """Feeds one store from one collection until it is cancelled."""

    def __init__(self, kube: Kube, selection: Selection, store: Store) -> None:
        """Tie a collection to a store."""
        self._kube, self._selection, self._store = kube, selection, store
        self._version = ""
        self.fresh = False
        self.synced = asyncio.Event()
        self._log = structlog.get_logger().bind(
            watch=selection.resource.plural, namespace=selection.namespace or "*"
        )

    async def run(self) -> None:
        """List, then watch, for ever; every failure is logged and waited out."""
        backoff = Backoff()
        while True:
            try:
                await self._once(backoff)
            except ApiError as error:
                self.fresh = False
                if error.status == GONE:
                    self._version = ""
                self._log.warning("watch broke", status=error.status, error=str(error))
                await asyncio.sleep(backoff.next())

    async def _once(self, backoff: Backoff) -> None:
        if not self._version:
            self._version = await self._list()
            self._caught_up()
        began = asyncio.get_running_loop().time()
        async for event in self._kube.watch(self._selection, self._version):
            if event["type"] == OPENED:
                self._caught_up()
                continue
            backoff.reset()
            self._version = event["object"]["metadata"]["resourceVersion"]
            self._apply(event)
        if asyncio.get_running_loop().time() - began < SHORT_STREAM:
            await asyncio.sleep(backoff.next())

    async def _list(self) -> str:
        """Bring the store up to date page by page: a whole list takes many times what stores keep of it.

        A frame of its own also lets the last page go before a watch that lasts for minutes.
        """
        keys: set[Key] = set()
        version = ""
        async for page in self._kube.pages(self._selection):
            for obj in page.objects:
                self._store.put(obj)
            keys.update(map(key_of, page.objects))
            version = page.version
            page.objects.clear()  # Or this page would stay until the next one is parsed.
        self._store.keep_only(keys, self._selection.namespace)
        return version

    def _caught_up(self) -> None:
        self.fresh = True
        self.synced.set()

    def _apply(self, event: Obj) -> None:
        match event["type"]:
            case "ADDED" | "MODIFIED":
                self._store.put(event["object"])
            case "DELETED":
                self._store.drop(event["object"])

"""The smallest controller on the same client: watches LLMServices and takes the finalizer off deleted ones.

What it costs per write is the floor that the real controller is measured against.
"""

import asyncio
import sys
from collections.abc import Set as AbstractSet

from llm_operator.api import FINALIZER, GROUP, PLURAL, VERSION
from llm_operator.kube import Kube
from llm_operator.resources import Key, Obj, Ref, Resource, Selection
from llm_operator.watch import ListWatch

SERVICES = Resource(GROUP, VERSION, PLURAL)


class Loop:
    """A store that acts on what it is fed."""

    def __init__(self, kube: Kube) -> None:
        """Start without a task."""
        self._kube = kube
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, obj: Obj) -> None:
        """Let go of a deleted object."""
        meta = obj["metadata"]
        if meta.get("deletionTimestamp") and FINALIZER in meta.get("finalizers", ()):
            task = asyncio.create_task(self._let_go(meta))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def drop(self, obj: Obj) -> None:
        """Nothing is kept."""

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None) -> None:
        """Nothing is kept."""

    async def _let_go(self, meta: Obj) -> None:
        path = f"/metadata/finalizers/{meta['finalizers'].index(FINALIZER)}"
        test = {"op": "test", "path": path, "value": FINALIZER}
        ref = Ref(SERVICES, meta["namespace"], meta["name"])
        await self._kube.json_patch(ref, [test, {"op": "remove", "path": path}])


async def main(kubeconfig: str) -> None:
    """Run until killed."""
    kube = await Kube.connect(kubeconfig)
    await ListWatch(kube, Selection(SERVICES), Loop(kube)).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

"""Asks for the delete of an InferenceCluster the way its mode wants it, and watches until all of it is gone.

The deletion belongs to the cluster from the first call on: whoever kills this process loses the watching
only, and the same command takes it up again.
"""

import asyncio
from http import HTTPStatus

from function.model import ATTEMPT_ANNOTATION, MODELPLANE
from llm_operator.kube import ApiError, Kube
from llm_operator.resources import Ref, Resource
from modelctl.exits import CommandError, Exit
from modelctl.screen import Screen
from modelctl.snapshot.kinds import TREE
from modelctl.snapshot.objects import (
    Manifest,
    annotation,
    block,
    condition,
    deleting,
    name,
    uid,
)
from modelctl.snapshot.read import Reader
from modelctl.teardown.tree import Family, Tree

POLL = 1.0
PATIENCE, COLLECTOR = 8, 60
"""Looks in a row in which it may look strange: a function takes some seconds, a busy collector more."""
_PENDING = "DeletionPending"
_UNDERWAY = ("DrainingServices", "RemovingServingStack", "RemovingCluster", "Released")


class Deletion:
    """One InferenceCluster on its way down."""

    def __init__(self, kube: Kube, cluster: str, screen: Screen) -> None:
        """Take the connection, the cluster's name and where to show it."""
        self._kube, self._screen, self.name = kube, screen, cluster
        self._reader = Reader(kube, TREE)
        group, _, version = MODELPLANE.rpartition("/")
        self._ref = Ref(Resource(group, version, "inferenceclusters"), None, cluster)
        self._strange = 0
        self.said = f"InferenceCluster {cluster}: the server has not answered yet"

    async def run(self) -> None:
        """Delete it and return when nothing of it is left; raises CommandError and ApiError."""
        root = await self._get()
        if root is None:
            raise CommandError(Exit.NOT_FOUND, f"there is no InferenceCluster {self.name}")
        family = Family(uid(root))
        tree = await self._look(family, None)
        await self._ask(root)
        while True:
            try:
                tree = await self._look(family, tree)
            except ApiError as error:
                if error.status and error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise
                self._screen.show([f"{self.name}: {error}; still trying"])
            else:
                if not tree.there:
                    return
                await self._judge(tree)
            await asyncio.sleep(POLL)

    async def _get(self) -> Manifest | None:
        try:
            return await self._kube.get(self._ref)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _look(self, family: Family, before: Tree | None) -> Tree:
        snapshot = await self._reader.read()
        for refused in snapshot.unread.values():
            raise CommandError(Exit.DENIED, f"cannot follow it: {refused}")
        there = family.look(snapshot)
        went = tuple(family.known[one] for one in (before.there if before else ()) if one not in there)
        tree = Tree(snapshot, family, there, went)
        if before is not None:
            self._screen.show(tree.lines(live=self._screen.live))
            self.said = tree.headline()
        return tree

    async def _ask(self, root: Manifest) -> None:
        """Delete it, unless that has been done."""
        staged = is_staged(root)
        if deleting(root) or (
            staged and stage_of(root) in _UNDERWAY and annotation(root, ATTEMPT_ANNOTATION)
        ):
            return
        said = condition(root, "DeletionProtected")
        if not staged and said.get("status") == "True":
            raise CommandError(
                Exit.CONFLICT, f"InferenceCluster {self.name} is {said.get('message')}: delete that first"
            )
        if condition(root, "Teardown").get("reason") == _PENDING and not stage_of(root):
            await self._forget()
        await self._delete(uid(root), staged=staged)

    async def _forget(self) -> None:
        """Take off an attempt that is not carried out: it is older than the mode, or was to orphan."""
        await self._kube.merge(self._ref, {"metadata": {"annotations": {ATTEMPT_ANNOTATION: None}}})
        while True:
            root = await self._get()
            if root is None or condition(root, "Teardown").get("reason") != _PENDING:
                return
            await asyncio.sleep(POLL)

    async def _delete(self, one: str, *, staged: bool) -> None:
        try:
            await self._kube.delete_in_foreground(self._ref, one)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return
            if "in-use by" not in str(error):
                raise
            if not staged:
                undo = f"kubectl annotate inferencecluster {self.name} {ATTEMPT_ANNOTATION}-"
                what = f"{error}; it is recorded and carried out when that is gone; to take it back: {undo}"
                raise CommandError(Exit.CONFLICT, what) from None

    async def _judge(self, tree: Tree) -> None:
        """Act on what will not go by itself, once it has looked so for a while."""
        root = tree.root
        if root is not None and not deleting(root):
            if stage_of(root) == _PENDING:  # everything is gone, and Crossplane's own replay came to nothing
                await self._delete(uid(root), staged=True)
            strange = not stage_of(root) and not annotation(root, ATTEMPT_ANNOTATION)
            said = "the delete was taken back: the recorded attempt is not there any more"
        else:
            strange = root is None and not any(deleting(one) for one in tree.left)
            said = "it is gone, and what it composed stays: " + ", ".join(
                f"{one['kind']} {name(one)}" for one in tree.left
            )
        self._strange = self._strange + 1 if strange else 0
        if self._strange >= (PATIENCE if root is not None else COLLECTOR):
            code = Exit.CONFLICT if root is not None else Exit.FAILED
            raise CommandError(code, f"InferenceCluster {self.name}: {said}")


def is_staged(root: Manifest) -> bool:
    """Whether a delete is carried out stage by stage."""
    return block(block(root.get("spec")).get("deletion")).get("mode") == "Staged"


def stage_of(root: Manifest) -> str:
    """Return the stage of a teardown, empty before it."""
    return str(block(block(root.get("status")).get("teardown")).get("stage") or "")

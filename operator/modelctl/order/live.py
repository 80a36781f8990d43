"""Reads a cluster as it is on the server: the composite, all that it composed, and their Usages.

What a composite composed stands in its own resourceRefs; what is not there any more is told as gone.
"""

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from llm_operator.kube import ApiError, Kube
from llm_operator.resources import Ref, Resource
from modelctl import cluster
from modelctl.exits import CommandError, Exit
from modelctl.order.assemble import ROOT, Thing, assemble
from modelctl.order.graph import Graph, is_usage
from modelctl.order.text import GONE

Manifest = dict[str, Any]
API, KIND = "modelplane.ai/v1alpha1", "InferenceCluster"
KEY = "crossplane.io/composition-resource-name"
DEEPEST = 8
"""Levels of composites below the InferenceCluster."""


async def read(kubeconfig: str | None, name: str) -> Graph:
    """Read the InferenceCluster of a name; raises CommandError."""
    async with cluster.connected(kubeconfig) as kube:
        reader = _Reader(kube)
        root = await reader.get({"apiVersion": API, "kind": KIND, "name": name}, "")
        if root is None:
            raise CommandError(Exit.NOT_FOUND, f"there is no {KIND} {name}")
        await reader.descend(root, ROOT, 1)
    return assemble(root, reader.things, state_of(root))


def state_of(manifest: Manifest) -> str:
    """Say how an object is, in a word or two."""
    if manifest["metadata"].get("deletionTimestamp"):
        return f"deleting since {manifest['metadata']['deletionTimestamp']}"
    conditions = (manifest.get("status") or {}).get("conditions") or []
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), None)
    return {"True": "ready", None: "there"}.get(ready, "not ready")


class _Reader:
    """Reads objects and remembers the paths of their kinds."""

    def __init__(self, kube: Kube) -> None:
        self.things: list[Thing] = []
        self._kube = kube
        self._plurals: dict[str, dict[str, tuple[str, bool]]] = {}

    async def descend(self, composite: Manifest, own: str, depth: int) -> None:
        """Read what a composite composed, and below. A Usage that is gone holds nothing any more."""
        meta = composite["metadata"]
        for number, ref in enumerate(_refs(composite)):
            found = await self.get(ref, meta.get("namespace") or "")
            if found is None and is_usage(ref):
                continue
            made = found or _gone(ref)
            key = (made["metadata"].get("annotations") or {}).get(KEY) or _key(ref, meta["name"])
            id_ = f"{own}/{key}" if found else f"{own}/{key}.{number}"  # a guessed key may not be unique
            self.things.append(Thing(id_, key, made, own, state=state_of(made) if found else GONE))
            if found is not None and depth < DEEPEST:
                await self.descend(found, id_, depth + 1)

    async def get(self, ref: Manifest, namespace: str) -> Manifest | None:
        """Read an object; None when it, or its whole kind, is gone."""
        if not ref.get("name"):
            return None
        plural, namespaced = await self._plural(str(ref["apiVersion"]), str(ref["kind"]))
        if not plural:
            return None
        group, _, version = str(ref["apiVersion"]).rpartition("/")
        within = ref.get("namespace") or namespace if namespaced else None
        try:
            return await self._kube.get(Ref(Resource(group, version, plural), within, str(ref["name"])))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _plural(self, api_version: str, kind: str) -> tuple[str, bool]:
        """Return the plural of a kind and whether it is namespaced; an empty plural for an unknown kind."""
        if api_version not in self._plurals:
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            try:
                served = (await self._kube.get_path(path))["resources"]
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                served = []
            self._plurals[api_version] = {
                one["kind"]: (one["name"], bool(one["namespaced"]))
                for one in served
                if "/" not in one["name"]
            }
        return self._plurals[api_version].get(kind, ("", False))


def _refs(composite: Manifest) -> Iterator[Manifest]:
    yield from ((composite.get("spec") or {}).get("crossplane") or {}).get("resourceRefs") or []


def _gone(ref: Manifest) -> Manifest:
    meta = {"name": ref.get("name") or "?", "namespace": ref.get("namespace")}
    return {"apiVersion": ref["apiVersion"], "kind": ref["kind"], "metadata": meta}


def _key(ref: Manifest, composite: str) -> str:
    """Guess the key of an object that is gone: names are the composite's, the key and a hash."""
    name = str(ref.get("name") or "")
    found = re.fullmatch(rf"{re.escape(composite)}-(.+)-[0-9a-f]{{5,12}}", name)
    return found[1] if found else name

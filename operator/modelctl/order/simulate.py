"""Runs the function in process, step by step, as Crossplane would: what it composes is ready a step later.

What a step composes is what its gates let through, so the steps are the order up. A ServingStack that is
composed is itself given to the function. Nothing leaves this process.
"""

import logging
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import structlog
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import structs
from function.fn import FunctionRunner
from function.model import IN_USE_LABEL
from function.sources import SOURCES
from function.sources.base import KUBECONFIG
from modelctl.exits import CommandError, Exit
from modelctl.order.assemble import ROOT, Thing
from modelctl.order.documents import COMPOSITES, settings
from modelctl.order.graph import group_of

Manifest = dict[str, Any]
MOST_STEPS = 100
_SILENT = structlog.make_filtering_bound_logger(logging.CRITICAL)
_MOST_LOOKUPS = 5  # rounds of lookups in a step, as in Crossplane


@dataclass(slots=True)
class World:
    """What exists in a step. `offered` are further objects that the function may ask for."""

    root: Manifest
    offered: list[Manifest]
    things: dict[str, Thing] = field(default_factory=dict)
    waits: dict[str, str] = field(default_factory=dict)
    """Composite -> what it says while it is not ready."""

    def composites(self) -> dict[str, Manifest]:
        """Return the composites that the function is called for."""
        below = {t.id: t.manifest for t in self.things.values() if t.manifest["kind"] in COMPOSITES}
        return {ROOT: self.root, **below}

    def seen(self) -> object:
        """Return all that the function could tell from the step before."""
        statuses = {id_: composite.get("status") for id_, composite in self.composites().items()}
        return deepcopy((sorted(self.things), statuses, self.waits))


async def simulate(root: Manifest, offered: list[Manifest]) -> World:
    """Compose until nothing new comes; raises CommandError where the function refuses or waits for ever."""
    meta = {"uid": "root-uid", **(root.get("metadata") or {})}
    world = World({**root, "metadata": meta}, offered)
    for step in range(1, MOST_STEPS):
        before = world.seen()
        for id_, composite in world.composites().items():
            await _compose(world, id_, composite, step)
        if world.seen() == before:
            break
    if world.waits:
        waits = "; ".join(dict.fromkeys(world.waits.values()))
        raise CommandError(
            Exit.USAGE, f"it never gets ready: {waits}; give what it waits for with another -f"
        )
    return world


async def _compose(world: World, id_: str, composite: Manifest, step: int) -> None:
    response = await _call(world, id_, composite, step)
    for result in response.results:
        if result.severity == fnv1.SEVERITY_FATAL:
            raise CommandError(
                Exit.USAGE, f"{composite['kind']} {composite['metadata'].get('name', '?')}: {result.message}"
            )
    for key, resource in sorted(response.desired.resources.items()):  # a protobuf map has no order
        _take(world, id_, composite, step, (key, structs.plain_block(resource.resource)))
    _settle(world, id_, composite, response)


def _take(world: World, id_: str, composite: Manifest, step: int, composed: tuple[str, Manifest]) -> None:
    key, manifest = composed
    own = f"{id_}/{key}" if id_ else key
    if own in world.things:
        world.things[own].manifest["spec"] = manifest.get("spec", {})
        return
    meta = {"name": f"{composite['metadata']['name']}-{key}", "uid": f"{own}-uid", **manifest["metadata"]}
    meta["finalizers"] = ["simulated"]  # Crossplane's or a provider's: it is looked after
    meta["labels"] = {**meta.get("labels", {}), IN_USE_LABEL: "true"}  # as its Usages have it
    if "namespace" in composite["metadata"]:
        meta.setdefault("namespace", composite["metadata"]["namespace"])
    status = {"conditions": [] if manifest["kind"] in COMPOSITES else [_ready()], **_published(manifest)}
    world.things[own] = Thing(own, key, {**manifest, "metadata": meta, "status": status}, id_, step)


def _settle(world: World, id_: str, composite: Manifest, response: fnv1.RunFunctionResponse) -> None:
    """Give the composite the status that it would have now."""
    ready = response.desired.composite.ready != fnv1.READY_FALSE and all(
        resource.ready == fnv1.READY_TRUE for resource in response.desired.resources.values()
    )
    true = fnv1.STATUS_CONDITION_TRUE
    said = [
        {"type": c.type, "status": str(c.status == true), "reason": c.reason} for c in response.conditions
    ]
    status = structs.plain_block(response.desired.composite.resource).get("status") or {}
    composite["status"] = {**status, "conditions": [*said, *([_ready()] if ready else [])]}
    world.waits.pop(id_, None)
    if not ready:
        missing = [c.message for c in response.conditions if c.status != true and c.message]
        world.waits[id_] = f"{composite['kind']}: {', '.join(missing) or 'not all of it gets ready'}"


async def _call(world: World, id_: str, composite: Manifest, step: int) -> fnv1.RunFunctionResponse:
    """Call the function until it has been given all that it asks for."""
    request, runner = _request(world, id_, composite, step), FunctionRunner()
    runner.log = structlog.get_logger(wrapper_class=_SILENT)  # what it logs is said in our own one line
    for _ in range(_MOST_LOOKUPS):
        response = await runner.RunFunction(request, None)
        asked = dict(response.requirements.resources)
        if set(asked) <= set(request.required_resources):
            break
        for name, selector in asked.items():
            request.required_resources[name].SetInParent()
            del request.required_resources[name].items[:]
            for found in _find(world, selector):
                structs.write(request.required_resources[name].items.add().resource, found)
    return response


def _request(world: World, id_: str, composite: Manifest, step: int) -> fnv1.RunFunctionRequest:
    request = fnv1.RunFunctionRequest()
    structs.write(request.observed.composite.resource, composite)
    for thing in world.things.values():
        if thing.composite == id_ and thing.step < step:
            structs.write(request.observed.resources[thing.key].resource, thing.manifest)
    structs.write(request.input, settings(world.offered, composite))
    return request


def _find(world: World, selector: fnv1.ResourceSelector) -> list[Manifest]:
    labels = selector.match_labels.labels if selector.HasField("match_labels") else {}
    return [
        one
        for one in (*world.offered, *(thing.manifest for thing in world.things.values()))
        if (one["apiVersion"], one["kind"]) == (selector.api_version, selector.kind)
        and selector.match_name in ("", one["metadata"].get("name"))
        and dict(labels).items() <= (one["metadata"].get("labels") or {}).items()
    ]


def _ready() -> Manifest:
    return {"type": "Ready", "status": "True", "reason": "Available"}


def _published(manifest: Manifest) -> Manifest:
    """Return the status by which a cluster XR that is ready lets the rest log in to the cluster."""
    for source in SOURCES:
        made = source.provisioned
        if made is not None and made.kind == manifest["kind"] and group_of(manifest):
            kinds = (KUBECONFIG, *((made.identity,) if made.identity else ()))
            return {"secrets": [{"type": kind, "name": kind.lower(), "key": "data"} for kind in kinds]}
    return {}

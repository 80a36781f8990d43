"""Makes the graph of a root object and of all that it composed, however these were found. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from modelctl.order.graph import Graph, Node, group_of, is_usage, label, make

Manifest = dict[str, Any]
ROOT = ""


@dataclass(frozen=True, slots=True)
class Thing:
    """An object: its id, its key within its composite, that one's id, and when and how it is."""

    id: str
    key: str
    manifest: Manifest
    composite: str = ROOT
    step: int = 0
    state: str = ""


def assemble(root: Manifest, things: Iterable[Thing], state: str = "") -> Graph:
    """Tie them together by what their Usages say."""
    top = Thing(ROOT, str(root["metadata"]["name"]), root, "", 0, state)
    objects = [top, *_numbered(things)]
    nodes = {thing.id: _node(thing) for thing in objects if not is_usage(thing.manifest)}
    ends: list[tuple[str, ...]] = []
    refused: list[str] = []
    for usage in (thing for thing in objects if is_usage(thing.manifest)):
        spec = usage.manifest.get("spec") or {}
        if "by" not in spec:
            refused.append(str(spec.get("reason") or "a ClusterUsage without a reason"))
            continue
        ends += [
            (of, by) for of in _ends(nodes, objects, usage, "of") for by in _ends(nodes, objects, usage, "by")
        ]
    return make(ROOT, nodes.values(), ends, refused)


def _numbered(things: Iterable[Thing]) -> list[Thing]:
    """Give the steps numbers without gaps: in some nothing but Usages is composed, or only waited for."""
    found = list(things)
    steps = sorted({thing.step for thing in found if not is_usage(thing.manifest)})
    numbers = {step: number for number, step in enumerate(steps, 1) if step}
    return [replace(thing, step=numbers.get(thing.step, 0)) for thing in found]


def _node(thing: Thing) -> Node:
    kind, group = str(thing.manifest["kind"]), group_of(thing.manifest)
    name = str(thing.manifest["metadata"]["name"])
    composite = None if thing.id == ROOT else thing.composite
    return Node(
        thing.id, kind, group, name, label(kind, group, thing.key), composite, thing.step, state=thing.state
    )


def _ends(nodes: dict[str, Node], objects: list[Thing], usage: Thing, end: str) -> Iterator[str]:
    """Yield the ids of what a Usage names; something that was not composed becomes a node of its own."""
    spec = usage.manifest["spec"][end]
    kind, group = str(spec["kind"]), group_of(spec)
    name = (spec.get("resourceRef") or {}).get("name")
    namespace = (spec.get("resourceRef") or {}).get("namespace") or usage.manifest["metadata"].get(
        "namespace"
    )
    alike = [one for one in objects if (str(one.manifest["kind"]), group_of(one.manifest)) == (kind, group)]
    if name is None:
        yield from (one.id for one in alike if one.id and one.composite == usage.composite)
        return
    found = [
        one.id
        for one in alike
        if one.manifest["metadata"]["name"] == name
        and one.manifest["metadata"].get("namespace") in (None, namespace)
    ]
    if not found:
        own = f"{kind}.{group}/{namespace}/{name}"
        nodes.setdefault(own, Node(own, kind, group, name, f"{kind} {name}", ours=False))
        found = [own]
    yield from found

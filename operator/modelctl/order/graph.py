"""Objects, who holds whom, and the order that follows. Pure.

A hold says that `protected` may go only when `until_gone` is gone: read one way it is the order down. A
composite goes after what it composed, as a foreground delete asks for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from function.order import TABLE, Role, Row

Manifest = Mapping[str, Any]
PROTECTION = "protection.crossplane.io"
USAGES = ("Usage", "ClusterUsage")
CONFIGS = ("ProviderConfig", "ClusterProviderConfig")
_LEAVES = ("Release", "Object")


class LoopError(ValueError):
    """Objects wait for one another in a circle: none of them can ever go."""


@dataclass(frozen=True, slots=True)
class Node:
    """One object. `up` is the step in which it is composed, 0 where that is not known."""

    id: str
    kind: str
    group: str
    name: str
    label: str
    composite: str | None = None
    up: int = 0
    state: str = ""
    ours: bool = True
    """Whether it goes with the cluster; a Secret that somebody brought stays."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What one Usage says, and the row of the function's table that it comes from, where there is one."""

    protected: str
    until_gone: str
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Everything of one cluster. `refused` are reasons for which its delete is refused as a whole."""

    root: str
    nodes: Mapping[str, Node]
    holds: tuple[Hold, ...]
    refused: tuple[str, ...] = ()
    _down: dict[str, int] = field(default_factory=dict, compare=False)

    def holders(self, node: str) -> list[str]:
        """Return what has to be gone before an object may go, by a Usage."""
        return list(dict.fromkeys(hold.until_gone for hold in self.holds if hold.protected == node))

    def composed(self, node: str) -> list[str]:
        """Return what an object composed itself."""
        return [other.id for other in self.nodes.values() if other.composite == node and other.ours]

    def down(self, node: str) -> int:
        """Return the step in which an object goes, from 1; raises LoopError."""
        return self._depth(node, ())

    def _depth(self, node: str, path: tuple[str, ...]) -> int:
        if node in path:
            circle = [self.nodes[one].label for one in (*path[path.index(node) :], node)]
            raise LoopError(f"these wait for one another for ever: {' waits for '.join(circle)}")
        if node not in self._down:
            before = {*self.holders(node), *self.composed(node)} - {node}
            self._down[node] = 1 + max((self._depth(one, (*path, node)) for one in before), default=0)
        return self._down[node]


def is_usage(manifest: Manifest) -> bool:
    """Say whether an object is a Usage of some form."""
    return manifest["kind"] in USAGES and group_of(manifest).startswith(PROTECTION)


def group_of(manifest: Manifest) -> str:
    """Return the API group of an object or reference, empty for the core's."""
    return str(manifest.get("apiVersion", "")).rpartition("/")[0]


def label(kind: str, group: str, key: str) -> str:
    """Return the short name of an object: a leaf by its key, a ProviderConfig by its provider."""
    if kind in CONFIGS:
        return f"{kind} {group.partition('.')[0]}"
    return key if kind in _LEAVES else f"{kind} {key}"


def make(root: str, nodes: Iterable[Node], ends: Iterable[tuple[str, ...]], refused: Iterable[str]) -> Graph:
    """Tie objects to their holds; the ends of each are (protected, until gone)."""
    by_id = {node.id: node for node in nodes}
    holds = (Hold(of, by, row(by_id, of, by)) for of, by in dict.fromkeys(ends))
    return Graph(root, by_id, tuple(holds), tuple(refused))


def row(nodes: Mapping[str, Node], protected: str, until_gone: str) -> Row | None:
    """Return the row of the function's table that a hold comes from."""
    of, by = (_roles(nodes, nodes[end]) for end in (protected, until_gone))
    return next((one for one in TABLE if one.protected in of and one.until_gone in by), None)


def _roles(nodes: Mapping[str, Node], node: Node) -> tuple[Role, ...]:
    if node.kind in CONFIGS:
        return (Role.PROVIDER_CONFIG,)
    above = nodes.get(node.composite or "")
    if node.kind in _LEAVES:
        stack = above is not None and above.kind == "ServingStack"
        return (Role.COMPONENT, Role.LEAF) if stack else (Role.SERVICE,)
    known = {"Secret": Role.SECRET, "ServingStack": Role.STACK, "InferenceCluster": Role.INFERENCE_CLUSTER}
    if node.kind not in known and above is not None and above.kind == "InferenceCluster":
        return (Role.CLUSTER,)
    return (known[node.kind],) if node.kind in known else ()

"""The InferenceClasses of the node pools: fetched, awaited, and turned into the pools of a cluster XR.

A class that is not fetched yet, does not exist or has no block for the source never drops or empties the
cluster: its XR is planned again as it is observed.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from function import spec as reader
from function.memo import Memo
from function.model import MODELPLANE, Condition, Lookup, Plan, Severity
from function.reading import Block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.observed import Observed
    from function.sources.base import Provisioned
    from function.spec import InferenceCluster, NodePool
    from function.structs import Plain


@dataclass(frozen=True, slots=True)
class Classes:
    """The specs of the classes that were found, by name, and the names that were not found."""

    found: Mapping[str, Mapping[str, Plain]]
    missing: tuple[str, ...]


def fetch(made: Plan, spec: InferenceCluster, observed: Observed) -> Classes:
    """Ask for the classes of all pools and say which are missing."""
    found: dict[str, Mapping[str, Plain]] = {}
    for name in spec.class_names:
        key, lookup = _lookup(name)
        made.lookups[key] = lookup
        for body in observed.bodies(key):
            found[name] = reader.class_spec(body)
    missing = tuple(name for name in spec.class_names if name not in found)
    if missing:
        message = f"Waiting for InferenceClasses: {', '.join(missing)}"
        made.conclude(Condition("ClusterReady", status=False, reason="WaitingForClasses", message=message))
        made.say(Severity.NORMAL, message)
    return Classes(found, missing)


@functools.lru_cache(maxsize=1024)
def _lookup(name: str) -> tuple[str, Lookup]:
    return f"class-{name}", Lookup(MODELPLANE, "InferenceClass", name=name)


def pools(
    made: Plan, spec: InferenceCluster, provisioned: Provisioned, classes: Classes
) -> list[Plain] | None:
    """Return the cluster XR's node pools, or None where they cannot be told in this pass."""
    if classes.missing:
        return None
    if not 1 <= len(spec.pools) <= provisioned.max_pools:
        limits = f"takes 1 to {provisioned.max_pools} node pools, not {len(spec.pools)}"
        _refuse(made, f"{provisioned.kind} {limits}")
        return None
    # The same objects have the same content, see `structs.shared`; the memo keeps them, and so their ids.
    parts = (spec.pools, *classes.found.values())
    key = (provisioned.kind, *map(id, parts))
    if (known := _made.get(key)) is not None:
        return known[1]
    entries = _entries(made, spec, provisioned, classes)
    if entries is not None:
        _made.put(key, (parts, entries))
    return entries


_made: Memo[tuple[object, ...], tuple[object, list[Plain]]] = Memo(64)


def _entries(
    made: Plan, spec: InferenceCluster, provisioned: Provisioned, classes: Classes
) -> list[Plain] | None:
    entries: list[Plain] = []
    for pool in spec.pools:
        if problem := provisioned.unfit(pool):
            _refuse(made, f"{provisioned.kind}: node pool {pool.name} {problem}")
            return None
        entry = _pool(pool, provisioned, classes)
        if entry is None:
            _refuse(made, f"InferenceClass {pool.class_name} has no {provisioned.title} provisioning block")
            return None
        entries.append(entry)
    return entries


def _refuse(made: Plan, message: str) -> None:
    made.conclude(Condition("ClusterReady", status=False, reason="InvalidNodePool", message=message))
    made.say(Severity.WARNING, f"{message}; the cluster is kept as it is")


def _pool(pool: NodePool, provisioned: Provisioned, classes: Classes) -> dict[str, Plain] | None:
    content = reader.provisioning(classes.found[pool.class_name], provisioned.block)
    if content is None:
        return None
    return provisioned.pool(pool, Block(f"InferenceClass {pool.class_name}: provisioning", content))

"""What is left of an InferenceCluster, as `modelctl delete cluster` draws it."""

from __future__ import annotations

from typing import Any

import pytest

from modelctl.snapshot.objects import Snapshot, uid
from modelctl.teardown.tree import Family, Tree
from support.snapshots import EARLIER, condition, inside, made, of, snapshot, usage

DYING: dict[str, Any] = {"deletionTimestamp": EARLIER}
IC = made("InferenceCluster", "blue", **DYING)
STAGED = made(
    "InferenceCluster", "blue", status={"teardown": {"stage": "WaitingForUsers", "message": "used by x"}}
)
STACK = inside("ServingStack", "stack", ownerReferences=of(IC))
DYING_STACK = inside("ServingStack", "stack", ownerReferences=of(IC), **DYING)
CONFIG = inside("ProviderConfig", "reach", ownerReferences=of(STACK))
LEAF = inside("Object", "leaf", ownerReferences=of(STACK), **DYING)
STUCK = inside(
    "Object", "leaf", ownerReferences=of(STACK), status=condition("Synced", "False", "", "no route"), **DYING
)
CARRIED = {"kind": "LLMService", "metadata": {"namespace": "models", "name": "tide"}}
DRAINING = {**CARRIED, "status": {"deletion": {"stage": "PodsTerminating", "message": "1 pod"}}}
SERVICE = inside(
    "Object", "svc", ownerReferences=of(IC), status={"atProvider": {"manifest": DRAINING}}, **DYING
)
HOLDS = usage("a", CONFIG, LEAF, ownerReferences=of(STACK))
STRANGER = inside("Object", "elsewhere")
SINCE = "deleting since 11:00:00 UTC"

# id, what was there before, what is there now, the lines
ROWS: list[tuple[str, Snapshot, Snapshot, list[str]]] = [
    (
        "holders",
        snapshot(IC, STACK, CONFIG, LEAF, HOLDS, STRANGER),
        snapshot(IC, DYING_STACK, CONFIG, LEAF, HOLDS, STRANGER),
        [
            f"InferenceCluster blue: {SINCE}, 3 left",
            f"  ServingStack stack: {SINCE}; stays until what it composed is gone",
            f"    Object leaf: {SINCE}",
            "    ProviderConfig kubernetes reach: not deleted yet; held by Object leaf",
        ],
    ),
    (
        "a leaf whose parent went first",
        snapshot(IC, STACK, LEAF),
        snapshot(IC, STUCK),
        [
            "  ServingStack stack: gone",
            f"InferenceCluster blue: {SINCE}, 1 left",
            f"  Object leaf: {SINCE}; no route",
        ],
    ),
    (
        "a service",
        snapshot(IC, SERVICE),
        snapshot(IC, SERVICE),
        [
            f"InferenceCluster blue: {SINCE}, 1 left",
            f"  Object svc: {SINCE}; LLMService models/tide: PodsTerminating 1 pod",
        ],
    ),
    (
        "only Usages",
        snapshot(IC, STACK, CONFIG, HOLDS),
        snapshot(HOLDS),
        [
            "  InferenceCluster blue: gone",
            "  ServingStack stack: gone",
            "  ProviderConfig kubernetes reach: gone",
            "InferenceCluster blue: gone, 1 left of what it composed",
            "  Usage a: not deleted yet",
        ],
    ),
    (
        "staged, in use",
        snapshot(STAGED),
        snapshot(STAGED),
        ["InferenceCluster blue: WaitingForUsers, 0 left: used by x"],
    ),
    (
        "nothing",
        snapshot(IC),
        snapshot(STRANGER),
        ["  InferenceCluster blue: gone", "InferenceCluster blue: gone"],
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_lines(row: tuple[str, Snapshot, Snapshot, list[str]]) -> None:
    """Kind, name, state, who holds it and since when; an object below what composed it."""
    _, before, now, expected = row
    family = Family(uid(IC))
    first = family.look(before)
    there = family.look(now)
    went = tuple(family.known[one] for one in first if one not in there)
    assert Tree(now, family, there, went).lines(live=False) == expected


def test_live() -> None:
    """On a terminal times are told as seen from now, and what went is simply not there any more."""
    family = Family(uid(IC))
    now = snapshot(IC, LEAF, STACK)
    went: Any = (family.known[uid(IC)],) if family.look(now) else ()
    drawn = Tree(now, family, family.look(now), went).lines(live=True)
    assert drawn[-1] == f"    Object leaf: {SINCE}, for 60m00s"
    assert not [line for line in drawn if line.endswith(": gone")]

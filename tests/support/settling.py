"""Runs the function until it has composed everything, and takes that down as the Usages let it."""

from __future__ import annotations

from typing import Any

from support.calls import Manifest, call, observe

HELD = {"inference.modelplane.ai/cluster": "infrastructure.modelplane.ai/v1alpha1 EKSCluster demo"}
"""Annotations of a ServingStack on a cluster that an XR provisions."""


def settle(composite: Manifest, settings: Manifest | None = None) -> dict[str, Manifest]:
    """Run the function until it desires nothing new, everything ready in between."""
    observed: dict[str, Manifest] = {}
    for _ in range(10):
        response = call(composite, observed, settings=settings)
        assert response.fatal == []
        if set(response.desired) == set(observed):
            return observed
        observed = observe(response)
    raise AssertionError("the function never settles")


def teardown(things: dict[str, Manifest]) -> list[set[str]]:
    """Delete everything at once and return what goes in each round: whatever no Usage protects any more."""
    left = {k: m for k, m in things.items() if m["kind"] not in ("Usage", "ClusterUsage")}
    usages = [m["spec"] for m in things.values() if m["kind"] == "Usage"]
    rounds: list[set[str]] = []
    while left:
        alive = {(m["kind"], m["metadata"]["name"]) for m in left.values()}
        held = {_end(u["of"]) for u in usages if _end(u["by"]) in alive}
        free = {k for k, m in left.items() if (m["kind"], m["metadata"]["name"]) not in held}
        assert free, f"nothing can go: {sorted(left)}"
        rounds.append(free)
        left = {k: m for k, m in left.items() if k not in free}
    return rounds


def _end(end: dict[str, Any]) -> tuple[str, str]:
    return end["kind"], end["resourceRef"]["name"]

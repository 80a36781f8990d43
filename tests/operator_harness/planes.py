"""The planes of the operator's tests, by name, each with the operator's API and permissions installed."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

from controlplane.options import Options
from controlplane.plane import Plane
from operator_harness import world

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SMALL, PODS = "operator", "operator-pods"
# Without the node lifecycle and pod collectors: nodes and pods of a case stay as the case says.
_SMALL = Options(
    crossplane=False,
    providers=(),
    scheduler=False,
    kwok=False,
    registry=False,
    controllers=("namespace", "serviceaccount", "garbagecollector"),
)
_PODS = Options(crossplane=False, providers=())
_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "gpu-1", "annotations": {"kwok.x-k8s.io/node": "fake"}},
}


def small() -> Plane:
    """Start etcd, an API server and the three controllers that case objects need."""
    return _prepared(SMALL, _SMALL)


def pods() -> Plane:
    """Start Kubernetes with all controllers, a scheduler, a registry and one node that kwok plays."""
    plane = _prepared(PODS, _PODS)
    add_node(plane)
    return plane


def add_node(plane: Plane) -> None:
    """Add a node that kwok plays."""
    plane.api.create(_NODE)
    plane.wait(lambda: _ready(plane), "the node is ready")


def lone() -> Plane:
    """Start a small plane that no other test shares."""
    return _prepared(f"{SMALL}-{secrets.token_hex(3)}", _SMALL)


RECIPES: Mapping[str, Callable[[], Plane]] = {SMALL: small, PODS: pods}


def _prepared(name: str, options: Options) -> Plane:
    plane = Plane.up(f"test-{os.getpid()}-{name}", options)
    with contextlib.ExitStack() as stack:
        stack.push(plane)  # closes it, and shows its logs, unless all of this succeeds
        world.install(plane)
        stack.pop_all()
    return plane


def _ready(plane: Plane) -> bool:
    conditions = plane.api.get("v1", "Node", "gpu-1").get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

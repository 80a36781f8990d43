"""The control planes that the tests share, by name, and how each is made."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from controlplane.options import Options
from controlplane.plane import Plane
from operator_harness import planes as operator_planes
from operator_harness import world
from policies import planes as policy_planes
from support import product, variants

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Helm installs without --wait and Objects carry ConfigMaps: nothing here needs a pod.
_WITHOUT_PODS = Options(scheduler=False, kwok=False)


def _product(name: str, *, policies: bool = False, peers: bool = False) -> Plane:
    plane = Plane.up(f"test-{os.getpid()}-{name}", _WITHOUT_PODS)
    with contextlib.ExitStack() as stack:
        stack.push(plane)  # closes it, and shows its logs, unless all of this succeeds
        table = product.small_stack()
        product.install(plane, table, peers=peers)
        product.install_standins(plane)
        product.install_function(plane, "variant", [sys.executable, "-m", "support.variants"])
        variants.install(plane, product.settings(f"oci://{plane.registry}/charts", table))
        less = [component for component in table if component["name"] != "settings"]
        given = product.settings(f"oci://{plane.registry}/charts", less)
        api_version = "infrastructure.modelplane.ai/v1alpha1"
        plane.api.apply(
            variants.composition("without-settings", api_version, "ServingStack", given, product.FUNCTION)
        )
        world.install(plane)
        if name == "open":
            product.install_function(plane, "patch-and-transform", [sys.executable, "-m", "support.patching"])
        if policies:
            product.install_policies(plane)
        stack.pop_all()
    return plane


def _install() -> Plane:
    """Start a plane with a node that kwok plays, and nothing of this project."""
    plane = Plane.up(f"test-{os.getpid()}-install", Options(poll="5s"))
    with contextlib.ExitStack() as stack:
        stack.push(plane)
        operator_planes.add_node(plane)
        stack.pop_all()
    return plane


RECIPES: Mapping[str, Callable[[], Plane]] = {
    "open": lambda: _product("open"),
    "policed": lambda: _product("policed", policies=True),
    "zoo": lambda: _product("zoo", policies=True),
    "peers": lambda: _product("peers", peers=True),
    "restarts": lambda: _product("restarts"),
    "swap": lambda: _product("swap"),
    "install": _install,
    "whole": lambda: Plane.up(f"test-{os.getpid()}-whole"),
    **operator_planes.RECIPES,
    **policy_planes.RECIPES,
}

"""Repeats the background delete of a whole InferenceCluster and prints how long each took.

Every repeat makes a cluster of its own, waits until it is Ready, deletes it in the background and asserts the
order in which everything went. Nothing inside a repeat is tried again.
"""

from __future__ import annotations

import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import click

from controlplane.errors import ControlPlaneError
from support import recipes
from support.world import World

if TYPE_CHECKING:
    from controlplane.plane import Plane


def repeat(plane: Plane, number: int) -> float:
    """Run one repeat and return the seconds from the delete until nothing is left."""
    with World(plane, f"soak-{number:03}") as world:
        world.up("EKS")
        began = time.monotonic()
        world.delete("Background")
        world.all_gone()
        took = time.monotonic() - began
        world.assert_configs_outlive(world.leaves)
        world.assert_order([world.leaf("gateway")], [world.leaf("controller")])
        world.assert_order(world.leaves, [world.eks, world.kubeconfig])
    return took


def report(plane: Plane, number: int) -> float | None:
    """Run one repeat and print its line; None when the order did not hold."""
    try:
        took = repeat(plane, number)
    except (AssertionError, ControlPlaneError) as error:
        click.echo(f"{number:4}  FAILED  {error}")
        return None
    click.echo(f"{number:4}  {took:6.1f} s  in order")
    return took


@click.command()
@click.option("--repeats", default=50, show_default=True, help="How many clusters are made and deleted.")
@click.option("--parallel", default=1, show_default=True, help="How many of them at a time.")
def main(repeats: int, parallel: int) -> None:
    """Repeat the background delete and fail when the order does not hold once."""
    with recipes.RECIPES["open"]() as plane, ThreadPoolExecutor(parallel) as pool:
        took = list(pool.map(lambda number: report(plane, number), range(1, repeats + 1)))
    held = [seconds for seconds in took if seconds is not None]
    if held:
        spread = f"min {min(held):.1f} s, median {statistics.median(held):.1f} s, max {max(held):.1f} s"
        click.echo(f"{len(held)} of {repeats} in order: {spread}")
    sys.exit(len(held) != repeats)


if __name__ == "__main__":
    main()

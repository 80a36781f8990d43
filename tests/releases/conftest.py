"""The planes of these tests: the operator's, with the release API's account and Role on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from operator_harness import charts, planes
from operator_harness.world import TESTS, World
from releases_harness import callers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from controlplane.plane import Plane


def _prepared(plane: Plane, factory: pytest.TempPathFactory) -> Iterator[World]:
    callers.install(plane)
    with charts.serve(plane.tools["helm"], TESTS / "charts", factory.mktemp("charts")) as repository:
        yield World(plane, repository)


@pytest.fixture(scope="session")
def release_world(
    shared_plane: Callable[[str], Plane], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """Return a plane on which nodes and pods stay as a case makes them."""
    yield from _prepared(shared_plane(planes.SMALL), tmp_path_factory)


@pytest.fixture
def lone_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return a plane for one test alone: its server looks after all namespaces."""
    with planes.lone() as plane:
        yield from _prepared(plane, tmp_path_factory)


@pytest.fixture(scope="session")
def pod_world(
    shared_plane: Callable[[str], Plane], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """Return a plane on which pods are scheduled, run and end."""
    yield from _prepared(shared_plane(planes.PODS), tmp_path_factory)

"""The planes of these tests, and the charts that are installed on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from operator_harness import charts, planes
from operator_harness.world import TESTS, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from controlplane.plane import Plane


def _with_charts(plane: Plane, factory: pytest.TempPathFactory) -> Iterator[World]:
    helm = plane.tools["helm"]
    with charts.serve(helm, TESTS / "charts", factory.mktemp("charts")) as repository:
        yield World(plane, repository)


@pytest.fixture(scope="session")
def operator_world(
    shared_plane: Callable[[str], Plane], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """Return a plane on which nodes and pods stay as a case makes them."""
    yield from _with_charts(shared_plane(planes.SMALL), tmp_path_factory)


@pytest.fixture(scope="session")
def pod_world(
    shared_plane: Callable[[str], Plane], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """Return a plane on which pods are scheduled, run and end."""
    yield from _with_charts(shared_plane(planes.PODS), tmp_path_factory)


@pytest.fixture
def lone_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return a plane for one test alone: its controller looks after all namespaces."""
    with planes.lone() as plane:
        yield from _with_charts(plane, tmp_path_factory)

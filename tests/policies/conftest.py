"""The planes of these tests, shared by all workers of the session, and what stands on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from policies import planes
from policies.play import Ground

if TYPE_CHECKING:
    from collections.abc import Callable

    from controlplane.plane import Plane
    from policies.wire import Wire


@pytest.fixture(scope="session")
def plane(shared_plane: Callable[[str], Plane]) -> Plane:
    """Return Kubernetes alone, with open CRDs of all kinds and the bundle."""
    return shared_plane(planes.TABLE)


@pytest.fixture(scope="session")
def platform(shared_plane: Callable[[str], Plane]) -> Plane:
    """Return Kubernetes with Crossplane, a small platform of the covered kinds and the bundle."""
    return shared_plane(planes.PLATFORM)


@pytest.fixture(scope="session")
def wire(plane: Plane) -> Wire:
    """Return an administrator's connection to `plane` that can send requests as anybody."""
    return planes.wire_to(plane)


@pytest.fixture(scope="session")
def ground(wire: Wire) -> Ground:
    """Return the kinds of the cases, with the bundle enforced."""
    return Ground(wire)

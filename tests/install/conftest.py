"""What two versions of this project have to offer, built once and pushed to the shared plane's registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from install import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from controlplane.plane import Plane


@pytest.fixture(scope="session")
def plane(shared_plane: Callable[[str], Plane], tmp_path_factory: pytest.TempPathFactory) -> Plane:
    """Return the plane, both versions of all packages and images in its registry."""
    found = shared_plane("install")
    versions.publish(found, tmp_path_factory.mktemp("versions"))
    return found

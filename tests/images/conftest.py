"""The images, built once a session from a copy of the tree, and unpacked where a test runs them."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

import pytest

from images import builds
from package.images import table
from support.containers import Container

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [row.name for row in table.IMAGES]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder with every image, built from a copy of the tree by the first worker that asks."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "images"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in NAMES:
            if not (folder / f"{name}.tar").exists():
                builds.build(builds.clone(folder / f"clone-{name}"), name, folder)
            Container.unpack(folder / f"{name}.tar", folder / name)
    return folder


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of each image in turn."""
    found: str = request.param
    return found


@pytest.fixture
def container(built: Path, name: str) -> Container:
    """Return an image, unpacked; a program that runs in it cannot change it."""
    return Container.unpack(built / f"{name}.tar", built / name)

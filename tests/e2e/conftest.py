"""A world of its own for every test, on a control plane shared with others."""

from __future__ import annotations

import fcntl
import hashlib
import re
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from controlplane.toolbox import Toolbox
from e2e.serving import SERVING_KINDS, Serving
from operator_harness.charts import Repository, serve
from operator_harness.world import TESTS
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from controlplane.plane import Plane

MakeWorld = Callable[..., World]
MakeServing = Callable[..., Serving]


@contextmanager
def turn(plane: Plane, *, alone: bool = False) -> Iterator[None]:
    """Hold a plane for the body, with others or alone: some tests break what all others rely on."""
    with (plane.state.folder / "turn").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.fixture
def world(request: pytest.FixtureRequest, shared_plane: Callable[[str], Plane]) -> Iterator[MakeWorld]:
    """Return a function that makes a World on the plane of that name; its cluster is named after the test."""
    with ExitStack() as stack:

        def make(plane: str = "open", suffix: str = "", more: tuple[tuple[str, str], ...] = ()) -> World:
            # Short: a Helm release is named after it, and may have 53 characters.
            words = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
            # When the test is repeated, the first cluster may still be there.
            attempt = getattr(request.node, "execution_count", 1)
            told = f"{request.node.nodeid}{suffix}{attempt if attempt > 1 else ''}"
            digest = hashlib.sha256(told.encode()).hexdigest()
            name = f"{words[:12].strip('-')}-{digest[:4]}"
            on = shared_plane(plane)
            stack.enter_context(turn(on))
            return stack.enter_context(World(on, name, more))

        yield make


@pytest.fixture(scope="session")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """Return the repository that the services' charts come from."""
    helm = Toolbox.ready()["helm"]
    with serve(helm, TESTS / "charts", tmp_path_factory.mktemp("charts")) as repository:
        yield repository


@pytest.fixture
def serving(world: MakeWorld, charts: Repository, tmp_path: Path) -> Iterator[MakeServing]:
    """Return a function that makes a Serving: a World with LLMServices and their controller."""
    with ExitStack() as stack:

        def make(**options: str) -> Serving:
            it = world(more=SERVING_KINDS, **options)
            return stack.enter_context(Serving(it, charts, tmp_path))

        yield make

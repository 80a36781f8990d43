"""The two planes of these tests, each shared by all of them, and how a test has a part of one to itself."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from controlplane.options import Options
from controlplane.plane import Plane
from policies import small_platform
from policies.bundle import FLAT, documents, install
from policies.play import Ground, build
from policies.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

TABLE, PLATFORM = "policies-table", "policies-platform"


def table() -> Plane:
    """Start Kubernetes alone, with open CRDs of all kinds and the bundle."""
    return _prepared(TABLE, Options.kubernetes(), _with_open_kinds)


def platform() -> Plane:
    """Start Kubernetes and Crossplane, with a small platform of the covered kinds and the bundle."""
    options = Options(providers=(), scheduler=False, kwok=False)
    return _prepared(PLATFORM, options, _with_small_platform)


RECIPES: Mapping[str, Callable[[], Plane]] = {TABLE: table, PLATFORM: platform}


def wire_to(plane: Plane) -> Wire:
    """Return the administrator's raw connection to a plane."""
    return Wire(plane.server, plane.state.pki / "ca.crt", plane.user_token("admin"))


@contextlib.contextmanager
def exclusive(plane: Plane, part: str) -> Iterator[None]:
    """Hold a part of a plane against all other tests that ask for it, in whatever process they run."""
    with (plane.state.folder / f"{part}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _prepared(name: str, options: Options, prepare: Callable[[Plane], None]) -> Plane:
    plane = Plane.up(f"test-{os.getpid()}-{name}", options)
    with contextlib.ExitStack() as stack:
        stack.push(plane)  # closes it, and shows its logs, unless all of this succeeds
        prepare(plane)
        stack.pop_all()
    return plane


def _with_open_kinds(plane: Plane) -> None:
    ground = Ground(wire_to(plane))
    build(ground)
    install(ground.wire, documents(FLAT.read_text()))


def _with_small_platform(plane: Plane) -> None:
    small_platform.install(plane)
    small_platform.apply_bundle(plane, wire_to(plane))

"""`make install-from-registry`: the packages as a user installs them, and a cluster up and down with them."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from typing import TYPE_CHECKING

import yaml

from controlplane.errors import ControlPlaneError, WaitTimeoutError
from controlplane.options import Options
from controlplane.plane import Plane
from controlplane.timeline import Timeline
from examples.demo import backstage, verdict
from examples.demo.demo import Telling
from examples.demo.objects import What
from examples.demo.screen import Screen, quoted_lines, verdict_lines
from package.images.errors import ImageError
from support import operator_chart, packages, product, registry
from support.world import CLUSTER, EKS, World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from controlplane.timeline import Event, Ref

# Helm installs without --wait, and Objects carry ConfigMaps: nothing here needs a pod.
_OPTIONS = Options(scheduler=False, kwok=False, poll="5s")
KINDS = {"inferenceclusters.modelplane.ai", "servingstacks.infrastructure.modelplane.ai"}
# Modelplane's own.
ABSENT = (EKS,)
_WATCHED = (CLUSTER, *backstage.COMPOSED)
_NAME = "local"
_UP = frozenset({What.CREATED, What.READY})
_CLUSTER = frozenset({f"InferenceCluster {_NAME}"})
_SECONDS = 300
_GRACE_SECONDS = 30
_LOOK_SECONDS = 0.2


def table() -> list[product.Manifest]:
    """Return what a ServingStack installs here: small components, and the controller as it is shipped."""
    return [*product.small_stack(), operator_chart.row()]


def variant(plane: Plane, version: str = "") -> packages.Variant:
    """Return packages whose Configuration finds function and charts in the plane's registry.

    The charts are small ones under the names of the real ones, which no network is there to serve. The
    controller's is the real one.
    """
    charts = product.push_charts(plane)
    file: Path = plane.state.private("tmp") / "settings.yaml"
    file.write_text(yaml.safe_dump(product.settings(charts, table())))
    chosen = {"version": version} if version else {}
    return packages.Variant(registry.REGISTRY, file, **chosen)


def install(
    plane: Plane,
    screen: Screen | None = None,
    heading: str = "Install",
    pushed: Callable[[str], None] = lambda _: None,
) -> None:
    """Run the documented commands, the function out of its image, and wait until all is healthy.

    What `make push` pushes has to be in the plane's registry already; `pushed` is told the command.
    """
    screen = screen or Screen(io.StringIO())
    for command in registry.documented(heading):
        if command.startswith("make "):
            pushed(command)
            continue
        show(plane, screen, command)
        if " function " in command:
            with screen.step("the function runs out of the image in its package"):
                registry.run_function(plane)
        if command.startswith("crossplane"):
            with screen.step("Crossplane installs it, and what it depends on"):
                plane.packages.settle()
    plane.wait(lambda: product.established(plane, KINDS), "InferenceCluster and ServingStack are served")


def show(plane: Plane, screen: Screen, command: str) -> None:
    """Show a documented command as it is typed here, run it and show what it printed."""
    screen.command(command.replace(registry.DOCUMENTED, registry.REGISTRY))
    screen.say(*quoted_lines(registry.run(plane, command)))


def _play(screen: Screen) -> None:
    started = time.monotonic()
    screen.title("A control plane with a registry: real servers without containers, all on loopback")
    with contextlib.ExitStack() as stack:
        with screen.step("etcd, kube-apiserver, controllers, Crossplane, two providers, a registry"):
            plane = stack.enter_context(Plane.up(f"registry-{os.getpid()}", _OPTIONS))
        _push(screen, plane)
        screen.title("The README's commands install them")
        install(plane, screen)
        timeline = stack.enter_context(Timeline(plane.api, _WATCHED, only=_is_ours))
        _come_up(screen, plane, timeline)
        _go_down(screen, plane, timeline)
        left = _finally_left(plane)
        timeline.settle()
        _conclude(screen, timeline.events, left)
    screen.say("", f"{time.monotonic() - started:.0f} s in all; the control plane is down again")


def _push(screen: Screen, plane: Plane) -> None:
    screen.title("Packages, images and the controller's chart are built and pushed")
    chosen = variant(plane)
    screen.say("  (The registry is the control plane's own; the Settings are for small charts in it.)")
    screen.command(f"make push REGISTRY={registry.REGISTRY} SETTINGS={chosen.settings}")
    with screen.step("the images with all that is in them, the chart, both packages"):
        packages.build(packages.OUTPUT, chosen, plane.tools)
    screen.say(*registry.publish(plane, packages.OUTPUT, chosen.version))


def _come_up(screen: Screen, plane: Plane, timeline: Timeline) -> None:
    screen.title("An InferenceCluster comes up: every line is a watch event")
    telling = Telling(screen, timeline, _UP)
    show(plane, screen, f"kubectl apply -f examples/{_NAME}/inferencecluster.yaml")
    plane.wait(
        lambda: telling.ended(What.READY, _CLUSTER), f"{_NAME} is Ready", _SECONDS, pause=_LOOK_SECONDS
    )


def _go_down(screen: Screen, plane: Plane, timeline: Timeline) -> None:
    screen.title("And goes, in order")
    screen.say(
        "  (Crossplane looks every 30 s whether a Usage still has its user: expect quiet half minutes.)"
    )
    telling = Telling(screen, timeline, frozenset(What) - _UP)
    show(plane, screen, f"kubectl delete inferencecluster {_NAME} --cascade=foreground --wait=false")
    plane.wait(lambda: telling.ended(What.GONE, _CLUSTER), f"{_NAME} is gone", _SECONDS, pause=_LOOK_SECONDS)


def _conclude(screen: Screen, events: Sequence[Event], left: Sequence[str]) -> None:
    screen.title("The verdict, from the versions (#) by which the server numbers all changes")
    rows = verdict.judge(verdict.Installed(table()), events, left)
    began = next((event.time for event in events if event.deleting), time.time())
    screen.say(*verdict_lines(rows, began, screen.style))
    if not verdict.kept(rows):
        raise ControlPlaneError("the order was not kept: see the verdict above")


def _is_ours(ref: Ref) -> bool:
    return ref.name == _NAME or ref.name.startswith(f"{_NAME}-")


def _finally_left(plane: Plane) -> list[str]:
    it = World(plane, _NAME, absent=ABSENT)
    with contextlib.suppress(WaitTimeoutError):
        plane.wait(lambda: not it.left(), "nothing is left", _GRACE_SECONDS, pause=0.5)
    return it.left()


def main() -> int:
    """Play it on a control plane of its own and return the exit code."""
    screen = Screen()
    try:
        _play(screen)
    except (ControlPlaneError, ImageError) as error:
        screen.say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        screen.say("interrupted: the control plane is stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

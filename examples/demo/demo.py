"""An InferenceCluster comes up, and goes down in order, on a real control plane of its own.

Exits 0 when the order was kept and nothing is left, 1 when not, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from controlplane.errors import ControlPlaneError, WaitTimeoutError
from controlplane.timeline import Timeline
from controlplane.toolbox import Toolbox
from examples.demo import backstage, story, verdict
from examples.demo.modes import MODES
from examples.demo.objects import What
from examples.demo.screen import Screen, hanging_lines, moment_lines, quoted_lines, verdict_lines
from support import product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controlplane.plane import Plane
    from controlplane.timeline import Event
    from examples.demo.modes import Attempt, Mode

HERE = Path(__file__).parent
MANIFEST = HERE / "inferencecluster.yaml"
TABLE: list[verdict.Component] = yaml.safe_load((HERE / "settings.yaml").read_text())["components"]
SERVICES = [
    (each["namespace"], each["name"]) for each in yaml.safe_load(MANIFEST.read_text())["spec"]["services"]
]
CLUSTER = f"InferenceCluster {backstage.NAME}"
EVERYTHING = frozenset({CLUSTER, *(f"LLMService {name}" for _, name in SERVICES)})
REGISTRY = "registry.example.org"
READY_SECONDS = 300
GONE_SECONDS = 300
# Each kind has a watch of its own: a moment is shown when what happened before it must have arrived, too.
_SETTLE_SECONDS = 0.3
_LOOK_SECONDS = 0.2
_PATIENT = ("(Crossplane looks every 30 s whether a Usage still has its user: expect quiet half minutes.)",)
_TOUCHED = (
    "(Crossplane looks every 30 s whether a Usage still has its user. The demo touches a Usage whose",
    "user has gone, so that it looks at once: same order, less waiting. `--patient` touches nothing.",
    "What is younger than 30 s takes until then: its provider waits for it to appear. Then it may wait",
    "a minute before it looks again, so the demo touches an Object whose LLMService has gone, too.)",
)
_UP = frozenset({What.CREATED, What.READY})
_DOWN = frozenset(What) - _UP


class OrderLostError(ControlPlaneError):
    """The InferenceCluster did not go down in order."""


class Telling:
    """Shows the moments of one phase, each once, with its time since the phase began."""

    def __init__(self, screen: Screen, timeline: Timeline, about: frozenset[What]) -> None:
        """Begin the phase now."""
        self.since = time.time()
        self._screen, self._timeline, self._about = screen, timeline, about
        self._shown: set[tuple[int, What]] = set()

    def ended(self, what: What, names: frozenset[str]) -> bool:
        """Show what is new; say whether `what` of all these, by kind and short name, has been shown."""
        latest = time.time() - _SETTLE_SECONDS
        moments = story.narrate(e for e in self._timeline.events if e.time < latest)
        for moment in moments:
            at = moment.version, moment.what
            if moment.what in self._about and moment.time >= self.since and at not in self._shown:
                self._shown.add(at)
                self._screen.say(*moment_lines(moment, self.since, self._screen.style))
        return names <= {f"{m.thing.kind} {m.label}" for m in moments if m.what is what}


class Touching:
    """Spares the viewer polls and back-offs: touches Usages and Objects that stay for what has gone."""

    def __init__(self, plane: Plane, timeline: Timeline) -> None:
        """Take the plane and what is recorded of it."""
        self._plane, self._timeline = plane, timeline
        self._next: dict[str, float] = {}

    def look(self) -> None:
        """Touch each of them, again after a second: a cache may lag behind, a provider wait on."""
        now = time.monotonic()
        for obj in story.released(self._timeline.events):
            name = obj["metadata"]["name"]
            if now >= self._next.get(name, 0):
                self._next[name] = now + 1
                backstage.touch(self._plane, obj)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__)
    parser.add_argument("--patient", action="store_true", help="touch nothing; takes two minutes longer")
    parser.add_argument("--mode", choices=MODES, default="cascade", help="which way down (default: cascade)")
    parsed = parser.parse_args(arguments)
    screen = Screen()
    try:
        play(screen, MODES[parsed.mode], patient=parsed.patient)
    except ControlPlaneError as error:
        screen.say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        screen.say("interrupted: the control plane is stopped, no process is left")
        return 130
    return 0


def play(screen: Screen, mode: Mode, *, patient: bool = False) -> None:
    """Play all parts; OrderLostError when the order was not kept."""
    started = time.monotonic()
    Toolbox.ready(lambda line: screen.say(f"  {line}"))
    screen.title("A control plane: real servers without containers, all on loopback")
    with ExitStack() as stack:
        with screen.step("etcd, kube-apiserver, controllers, kwok, Crossplane, two providers, a registry"):
            plane = stack.enter_context(backstage.control_plane())
        install(screen, plane)
        watch = Timeline(plane.api, backstage.WATCHED, only=backstage.is_ours)
        timeline = stack.enter_context(watch)
        come_up(screen, plane, timeline, mode)
        plane.wait(lambda: backstage.policy_is_in_force(plane), "the admission policy is in force")
        for attempt in mode.before:
            screen.title(attempt.title)
            ask(screen, plane, attempt)
        since = go_down(screen, plane, timeline, mode.down, patient=patient)
        installed = verdict.Installed(TABLE, SERVICES, mode.stages)
        left = backstage.finally_left(plane)
        timeline.settle()
        conclude(screen, installed, timeline.events, left, since)
    screen.say(
        "", f"{time.monotonic() - started:.0f} s in all; the control plane is down, no process is left"
    )


def install(screen: Screen, plane: Plane) -> None:
    """Install packages, charts, function and policies."""
    screen.title("Packages, charts, function, LLMService controller and admission policies")
    with screen.step("XRDs, Compositions and the function, served over mTLS; charts in the registry"):
        product.install(plane, TABLE)
    with screen.step("the LLMService controller with its CRD and roles; a node, whose pods kwok plays"):
        backstage.serve_models(plane)
    must(screen, plane, "kubectl apply -k policies/")


def must(screen: Screen, plane: Plane, command: str) -> None:
    """Show a command, run it and show what it printed; ControlPlaneError when it fails."""
    screen.command(command)
    done = backstage.run(plane, command)
    screen.say(*quoted_lines(done.text))
    if done.code:
        raise ControlPlaneError(f"`{command}` failed with code {done.code}")


def come_up(screen: Screen, plane: Plane, timeline: Timeline, mode: Mode) -> None:
    """Apply the InferenceCluster and show it come up until it and its services are Ready."""
    screen.title("An InferenceCluster with two services comes up")
    telling = Telling(screen, timeline, _UP)
    edits = [f"s,{REGISTRY},{plane.registry},", *([mode.edit] if mode.edit else [])]
    sed = " ".join(["sed", *(f"-e {edit}" for edit in edits), str(MANIFEST.relative_to(product.ROOT))])
    must(screen, plane, f"{sed} | kubectl apply -f -")
    plane.wait(
        lambda: telling.ended(What.READY, EVERYTHING),
        f"{CLUSTER} and its services are Ready",
        READY_SECONDS,
        _LOOK_SECONDS,
    )
    screen.say("", "  What has to outlive what, as the Usages say:")
    screen.say(*holds_lines(timeline.events))


def ask(screen: Screen, plane: Plane, attempt: Attempt) -> None:
    """Try a delete; ControlPlaneError unless it is answered as it must be."""
    if not attempt.refusal:
        must(screen, plane, attempt.command)
        return
    screen.command(attempt.command)
    done = backstage.run(plane, attempt.command)
    screen.say(*quoted_lines(done.text))
    if not done.code or attempt.refusal not in done.text:
        raise ControlPlaneError(f"`{attempt.command}` was not refused with {attempt.refusal!r}")


def go_down(screen: Screen, plane: Plane, timeline: Timeline, attempt: Attempt, *, patient: bool) -> float:
    """Delete it and show it go, at most for `GONE_SECONDS`; returns when that began."""
    screen.title(attempt.title)
    notes = [*([attempt.told] if attempt.told else []), *(_PATIENT if patient else _TOUCHED)]
    screen.say(*(f"  {line}" for line in notes))
    telling = Telling(screen, timeline, _DOWN)
    touching = Touching(plane, timeline)

    def gone() -> bool:
        if not patient:
            touching.look()
        return telling.ended(What.GONE, frozenset({CLUSTER}))

    ask(screen, plane, attempt)
    try:
        plane.wait(gone, f"{CLUSTER} is gone", GONE_SECONDS, _LOOK_SECONDS)
    except WaitTimeoutError as error:
        screen.say(f"  {error}")  # the verdict says what did not go
    return telling.since


def conclude(
    screen: Screen,
    installed: verdict.Installed,
    events: Sequence[Event],
    left: Sequence[str],
    since: float,
) -> None:
    """Show whether the order was kept; OrderLostError when it was not."""
    screen.title("The verdict, from the versions (#) by which the server numbers all changes")
    rows = verdict.judge(installed, events, left)
    screen.say(*verdict_lines(rows, since, screen.style))
    if not verdict.kept(rows):
        raise OrderLostError("the order was not kept: see the verdict above")


def holds_lines(events: Sequence[Event]) -> list[str]:
    """Render who stays until whom is gone, as the Usages say."""
    short = story.labels(events)
    found = story.holds(events)
    lines = []
    for protected in dict.fromkeys(each.protected for each in found):
        users = story.named((each.until_gone for each in found if each.protected == protected), short)
        lines += hanging_lines(f"  {story.named([protected], short):26}  outlives  ", users)
    return lines


if __name__ == "__main__":
    sys.exit(main())

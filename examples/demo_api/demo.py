"""A release of two pods that take their time to end is deleted through the API, on a real control plane.

Exits 0 when it stayed listed until the last pod was gone and a repeated DELETE was no error, 1 when not.
"""

import sys
import tempfile
import time
from http import HTTPStatus
from pathlib import Path

from controlplane.errors import ControlPlaneError
from controlplane.kube import Object, wait_until
from operator_harness import charts, planes
from operator_harness.world import TESTS, World
from releases_harness import callers
from releases_harness.cases import Run
from releases_harness.client import Answer

GONE_SECONDS = 120.0
LOOK_SECONDS = 0.2
ENDS_AFTER = "8s"
VALUES = {"replicas": 2, "grace": 30, "terminatesAfter": ENDS_AFTER}


class Broken(Exception):  # noqa: N818 - a promise that is broken
    """The promise was not kept."""


def main() -> int:
    """Run the demo."""
    say("Starting a control plane, a scheduler and a node that kwok plays ...")
    try:
        with planes.pods() as plane, tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            callers.install(plane)
            with charts.serve(plane.tools["helm"], TESTS / "charts", folder) as repository:
                return _play(World(plane, repository), folder)
    except (Broken, ControlPlaneError) as error:
        say(f"  no    {error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _play(world: World, folder: Path) -> int:
    run = Run(world, {"id": "demo", "name": "brook", "nodes": {}, "values": VALUES}, folder)
    try:
        run.set_up()
        say(f"$ POST {run.path}", f"  {_outcome(run.client.call('GET', run.path))}")
        wait_until(lambda: _running(run) == VALUES["replicas"], "two pods run", GONE_SECONDS)
        say(f"  {_told(run.client.row(run.namespace, run.name))}", "")
        began = time.monotonic()
        say(f"$ DELETE {run.path}", f"  {_outcome(run.send('DELETE'))}", "")
        repeated = _follow(run, began)
        say(
            "",
            "  ok    listed until the last pod was gone",
            f"  ok    {repeated} repeated DELETEs answered 200",
        )
        status = run.send("DELETE").status
        _keep(status == HTTPStatus.NOT_FOUND, f"a DELETE of what is gone answered {status}")
        say(f"  ok    a DELETE now answers {status}")
        return 0
    finally:
        run.end()


def _follow(run: Run, began: float) -> int:
    """Show the row whenever it changes, to its end; repeat the DELETE meanwhile and return how often."""
    last, repeated = "", 0
    while time.monotonic() - began < GONE_SECONDS:
        pods = len(_pods(run))
        row = run.client.row(run.namespace, run.name)
        told = _told(row)
        if told != last:
            say(f"  {time.monotonic() - began:5.1f}s  {told}")
            last = told
        if row is None:
            _keep(not _pods(run), "it is not listed any more, but pods are there")
            return repeated
        _keep(row["phase"] == "uninstalling", f"listed as {row['phase']}, {pods} pods left")
        answer = run.send("DELETE")
        fine = answer.status in (HTTPStatus.OK, HTTPStatus.NOT_FOUND)
        _keep(fine, f"a repeated DELETE answered {answer.status}")
        if not repeated:
            say(f"          $ DELETE again: {_outcome(answer)}")
        repeated += 1
        time.sleep(LOOK_SECONDS)
    raise Broken(f"still listed after {GONE_SECONDS:.0f} s")


def _keep(promise: bool, otherwise: str) -> None:  # noqa: FBT001 - what must hold
    if not promise:
        raise Broken(otherwise)


def _pods(run: Run) -> list[Object]:
    return run.world.plane.api.list("v1", "Pod", run.namespace)


def _running(run: Run) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in _pods(run))


def _outcome(answer: Answer) -> str:
    parts = [answer.body.get(key, "") for key in ("phase", "output", "detail")]
    return f"{answer.status} {': '.join(part for part in parts if part)}"


def _told(row: Object | None) -> str:
    """Say what the list says of the release."""
    if row is None:
        return "not listed any more"
    parts = [row["release"], row["phase"], row.get("drift", ""), row.get("message", "")]
    parts += [f"revision {row['revision']}"] if "revision" in row else []
    return "  ".join(part for part in [*parts, ", ".join(row.get("pods", []))] if part)


def say(*lines: str) -> None:
    """Print lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())

"""Races applies and deletes on two servers: `python -m releases_harness.soak [OPERATIONS] [RELEASES]`."""

import sys
import tempfile
import time
from pathlib import Path

from operator_harness import planes
from operator_harness.charts import Repository
from operator_harness.world import World
from releases_harness import callers
from releases_harness.race import ALLOWED, Race


def main() -> None:
    """Run the race and the takeover on a plane of its own, and print what came of it."""
    operations, releases = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 500), (2, 20)))
    with planes.lone() as plane, tempfile.TemporaryDirectory() as folder:
        callers.install(plane)
        world = World(plane, Repository("http://charts.invalid", Path(folder)))
        bad = _race(world, Path(folder), operations, releases) + _takeover(world, Path(folder))
    if bad:
        raise SystemExit("\n".join(bad))


def _race(world: World, folder: Path, operations: int, releases: int) -> list[str]:
    race = Race(world, folder / "race", releases)
    try:
        began = time.monotonic()
        answers = race.run(operations)
        took = time.monotonic() - began
        race.settle()
        complaints = [str(c) for server in race.servers for c in server.complaints()]
    finally:
        race.close()
    say = sys.stdout.write
    say(f"{operations} applies and deletes on {releases} releases, two servers: {took:.1f} s\n")
    for what, number in sorted(answers.items()):
        say(f"  {number:5d}  {what}\n")
    counts = len(race.helm.ran), len(race.events), len(race.violations())
    say("{} runs of the fake helm, {} changes of plans, {} violations\n".format(*counts))
    other = [what for what in answers if int(what.split()[1]) not in ALLOWED]
    return race.violations() + complaints + [f"answered {what}" for what in other]


def _takeover(world: World, folder: Path) -> list[str]:
    race = Race(world, folder / "takeover", 2, lock_seconds=6)
    try:
        seconds, answer = race.takeover()
    finally:
        race.close()
    sys.stdout.write(f"a holder killed: its helm dead, its lock of 6 s taken over after {seconds:.1f} s\n")
    return [] if answer.body["phase"] == "uninstalling" else [f"the takeover ended as {answer}"]


if __name__ == "__main__":
    main()

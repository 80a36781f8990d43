"""Two servers, and callers who want different things of the same releases; `make soak-api` is longer."""

from pathlib import Path

from operator_harness.world import World
from releases_harness.race import ALLOWED, Race


def test_race(release_world: World, tmp_path: Path) -> None:
    """No apply overwrites a marker, no two helms run for one release, nobody gets any other answer."""
    race = Race(release_world, tmp_path, releases=5)
    try:
        answers = race.run(100)
        for _ in range(9):  # In some orders a whole round meets only busy or missing releases.
            if min(answers["PUT 200"], answers["DELETE 200"]) > 0:
                break
            answers += race.run(100)
        race.settle()
        assert race.violations() == []
        assert {int(what.split()[1]) for what in answers} <= set(ALLOWED), answers
        assert min(answers["PUT 200"], answers["DELETE 200"]) > 0, answers
        assert [complaint for server in race.servers for complaint in server.complaints()] == []
    finally:
        race.close()


def test_a_holder_that_is_killed(release_world: World, tmp_path: Path) -> None:
    """Its helm dies with it, and once its lock has run out another server goes on."""
    race = Race(release_world, tmp_path, releases=2, lock_seconds=15)
    try:
        seconds, answer = race.takeover()
        assert answer.body["phase"] == "uninstalling", answer
        assert seconds > 5, "the lock was taken before it could have run out"
        race.settle()
    finally:
        race.close()

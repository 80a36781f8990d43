"""`modelctl doctor` over a zoo of broken situations on real servers: its own commands repair each."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from e2e.conftest import turn
from e2e.situation_controller import Unattended
from e2e.situations import SITUATIONS
from e2e.zoo import Situation, Zoo, repair
from modelctl.exits import Exit
from support import commands
from support.shell import Shell
from support.world import CLUSTER, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from controlplane.plane import Plane
    from operator_harness.charts import Repository


# They take turns: the last of them waits for all others.
pytestmark = pytest.mark.timeout(1800)


@pytest.fixture
def zoo(
    shared_plane: Callable[[str], Plane], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Zoo]:
    """Return the zoo: one living cluster for all situations, which take turns."""
    plane = shared_plane("zoo")
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    with turn(plane, alone=True), World(plane, "zoo") as world:
        if not world.exists(world.cluster, CLUSTER[0]):
            world.create("EKS")
        world.ready()
        yield Zoo(world, tmp_path)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.id)
def test_zoo(zoo: Zoo, situation: Situation) -> None:
    """Doctor finds it, the printed command repairs it, and doctor is silent about it afterwards."""
    repair(zoo, situation)


def test_unattended(zoo: Zoo, charts: Repository) -> None:
    """The same for LLMServices that no controller looks after."""
    unattended = Unattended(charts)
    try:
        repair(zoo, unattended.situation())
    finally:
        unattended.close()


def test_documented(zoo: Zoo, tmp_path: Path) -> None:
    """The transcript in modelctl's README is what doctor says of a policy that only audits."""
    ((_, shown),) = [each for each in commands.shown("operator/modelctl/README.md") if "doctor" in each[0]]
    first, finding, last = shown.splitlines()
    (situation,) = [each for each in SITUATIONS if each.id == "binding-audits"]
    situation.breaks(zoo)
    zoo.wait(lambda: zoo.about(*situation.objects(zoo)), "doctor finds it")
    said = Shell(zoo.plane.tools, tmp_path, zoo.plane.kubeconfig)("doctor", code=Exit.FAILED).splitlines()
    zoo.shell(finding.partition("; run: ")[2])
    assert (said[0], said.count(finding), last) == (first, 1, "1 finding")
    zoo.wait(lambda: not zoo.about(*situation.objects(zoo)), "the printed command helps")


def test_as_people_run_it(zoo: Zoo, tmp_path: Path) -> None:
    """A line says what Crossplane is; without anybody to ask the code says that it could not look."""
    argv = [sys.executable, "-m", "modelctl", "doctor"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False)
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("crossplane ")
    assert "Usages" in first
    assert (done.returncode, last) in ((Exit.DONE, "healthy"), (Exit.FAILED, last))
    nowhere = tmp_path / "nowhere"
    nowhere.write_text(zoo.plane.kubeconfig.read_text().replace(zoo.plane.server, "https://127.0.0.1:9"))
    away = subprocess.run(
        [*argv, "--kubeconfig", str(nowhere)],
        env={**os.environ, "KUBECONFIG": ""},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert away.returncode == Exit.USAGE
    assert away.stderr.startswith("error: cannot look: ")
    assert away.stderr.count("\n") == 1

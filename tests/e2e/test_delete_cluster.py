"""`modelctl delete cluster` on a real control plane: the right delete in either mode, watched to its end."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from e2e.test_users import guarded, protected
from modelctl.exits import Exit
from support.world import CLUSTER

if TYPE_CHECKING:
    from pathlib import Path

    from e2e.conftest import MakeWorld
    from support.world import World


def command(it: World, *more: str) -> list[str]:
    """Return the command that deletes the world's cluster."""
    argv = [sys.executable, "-m", "modelctl", "delete", "cluster", it.name]
    return [*argv, "--kubeconfig", str(it.plane.kubeconfig), *more]


def run(it: World, code: Exit, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the command and compare its exit code."""
    argv = command(it, *more)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == code, done
    return done


def test_cascade(world: MakeWorld, tmp_path: Path) -> None:
    """Foreground, in order; the time given is kept, and a second run takes up the watch of the first."""
    it = world()
    it.up("Local")
    release = it.hold("settings")
    early = run(it, Exit.TIMED_OUT, "--timeout", "20s")
    assert "it goes on: repeat to watch it" in early.stderr.splitlines()[-1]
    assert ("admin", 200) in it.deletes(it.cluster)
    said, leaf = tmp_path / "stderr", it.leaf("settings").name
    with (
        said.open("w") as stderr,
        subprocess.Popen(
            command(it, "--timeout", "6m"), stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as second,
    ):
        it.plane.wait(lambda: leaf in said.read_text(), "the second run sees the leaf", 120)
        release()
        out, _ = second.communicate(timeout=400)
    done = subprocess.CompletedProcess(second.args, second.returncode, out, said.read_text())
    assert done.returncode == Exit.DONE, done
    assert done.stdout == f"InferenceCluster {it.name} is gone\n"
    assert "\x1b" not in done.stderr
    seen = early.stderr + done.stderr
    config = it.provider_config.name
    assert f"  ProviderConfig kubernetes {config}: not deleted yet; held by Object " in seen
    assert f"    Object {leaf}: deleting since " in seen
    assert f"  Object {leaf}: gone\n" in seen
    assert seen.index(f"Object {leaf}: gone") < seen.index(f"ProviderConfig kubernetes {config}: gone")
    assert it.left() == []
    it.assert_configs_outlive(it.leaves)
    assert run(it, Exit.NOT_FOUND).stderr == f"error: there is no InferenceCluster {it.name}\n"


def test_staged(world: MakeWorld) -> None:
    """The attempt is recorded, and status.teardown is followed stage by stage until all is gone."""
    it = world()
    it.up("Local", more={"deletion": {"mode": "Staged"}})
    it.plane.wait(lambda: guarded(it), "the gate is in force", 60, pause=0.3)
    done = run(it, Exit.DONE, "--timeout", "6m")
    assert done.stdout == f"InferenceCluster {it.name} is gone\n"
    assert f"InferenceCluster {it.name}: RemovingServingStack, " in done.stderr
    assert f"InferenceCluster {it.name}: gone" in done.stderr
    stages = [e.object.get("status", {}).get("teardown", {}).get("stage") for e in it.events(it.cluster)]
    assert "RemovingCluster" in stages
    assert it.left() == []


def test_in_use(world: MakeWorld) -> None:
    """A cluster in use is not asked for, so nothing is recorded that would be carried out later."""
    it = world()
    it.up("Local", "with-modelplane")
    _, release = it.replica()
    protected(it)
    refused = run(it, Exit.CONFLICT)
    assert f"error: InferenceCluster {it.name} is used by ModelReplica" in refused.stderr
    found = it.plane.api.get(*CLUSTER, it.name)
    assert not [key for key in found["metadata"].get("annotations", {}) if "deletion-attempt" in key]
    release()
    it.delete_replica()

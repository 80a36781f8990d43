"""`modelctl plan --live` on a real control plane, while a cluster is up and while it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modelctl import main
from modelctl.exits import Exit

if TYPE_CHECKING:
    import pytest

    from e2e.conftest import MakeWorld
    from support.world import World

LEAVES = ("certificates", "controller", "gateway", "settings")


def _lines(it: World, capfd: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return what is said of each object, by its label; a line that goes on belongs to the one before."""
    argv = ["plan", "--live", it.name, "--kubeconfig", str(it.plane.kubeconfig)]
    assert main.run(argv) == Exit.DONE, capfd.readouterr().err
    said: dict[str, str] = {}
    label = ""
    for line in capfd.readouterr().out.splitlines():
        if line.startswith(" "):
            said[label] += " " + line.strip()
        else:
            label, _, rest = line.partition("  ")
            said[label] = rest.strip()
    return said


def test_what_holds_what_now(world: MakeWorld, capfd: pytest.CaptureFixture[str]) -> None:
    """Up, everything is ready and names its holders; going, what waits names whom it waits for."""
    it = world()
    it.up("EKS")
    let_go = it.hold("gateway")
    up = _lines(it, capfd)
    assert up["EKSCluster eks-cluster"].startswith("ready")
    for leaf in LEAVES:
        assert up[leaf].startswith("ready")
        assert leaf in up["EKSCluster eks-cluster"].partition("held by")[2]
    assert "held by certificates, controller" in up["ProviderConfig helm"]
    assert "held by gateway" in up["controller"]
    assert up["gateway"].endswith("nothing holds it")

    it.delete("Foreground")
    it.plane.wait(lambda: "gone" in _lines(it, capfd).get("certificates", ""), "a leaf is gone", 120, 0.5)
    going = _lines(it, capfd)
    assert going["gateway"].startswith("deleting since")
    assert "held by gateway" in going["controller"]  # its delete is refused: it is as it was
    assert f"InferenceCluster {it.name}" in going

    let_go()
    it.all_gone()
    argv = ["plan", "--live", it.name, "--kubeconfig", str(it.plane.kubeconfig)]
    assert main.run(argv) == Exit.NOT_FOUND
    assert capfd.readouterr().err == f"error: there is no InferenceCluster {it.name}\n"

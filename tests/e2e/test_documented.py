"""The documents' commands about InferenceClusters, each in a situation that they are for.

What is typed stands in the documents, what is printed in the files below `transcripts`: see support.shell.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from controlplane.kube import ApiError
from e2e.conftest import turn
from e2e.test_users import guarded
from e2e.zoo import NUDGE, head
from support.commands import ROOT
from support.shell import Shell, first_lines
from support.world import CLUSTER, INFERENCE_CLASS, OBJECT, REPLICA, SYSTEM, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from controlplane.plane import Plane

TRANSCRIPTS = Path(__file__).parent / "transcripts"
EXAMPLE = ROOT / "examples" / "local" / "inferencecluster.yaml"
MISSING = "h100"
_CONDITION = re.compile(r" *Reason:.*\n *Status:.*\n *Type:.*\n")


class Documented:
    """A cluster of the shared plane, and a shell to look at it."""

    def __init__(self, plane: Plane, folder: Path, name: str) -> None:
        """Take the plane, a folder for what programs keep, and the cluster's name."""
        self.world, self.plane = World(plane, name), plane
        self.shell = Shell(plane.tools, folder, plane.kubeconfig, NAME=name)

    def condition(self, kind: str) -> tuple[str, str, str]:
        """Return status, reason and message of one of the cluster's conditions."""
        conditions = self.plane.api.get(*CLUSTER, self.world.name).get("status", {}).get("conditions", [])
        told = ((c["status"], c["reason"], c.get("message", "")) for c in conditions if c["type"] == kind)
        return next(told, ("", "", ""))

    def says(self, kind: str, status: str, reason: str) -> None:
        """Wait until a condition says something."""
        said = (status, reason)
        self.plane.wait(lambda: self.condition(kind)[:2] == said, f"{kind} {reason}", 120, pause=0.3)

    def used(self) -> Callable[[], None]:
        """Schedule a ModelReplica and wait until it protects the cluster, and so does its Object."""
        _, let_go = self.world.replica()
        both = f"used by ModelReplica {SYSTEM}/{self.replica}, Object {SYSTEM}/{self.replica}"
        self.plane.wait(lambda: self.condition("DeletionProtected")[2] == both, "both are told", 60, 0.3)
        self.plane.wait(lambda: guarded(self.world), "a Usage is in force", 60, pause=0.3)
        return let_go

    @property
    def replica(self) -> str:
        """The name of that ModelReplica."""
        return f"{self.world.name}-model"

    def attempts(self) -> list[str]:
        """Return the recorded attempts to delete the cluster."""
        annotations = self.plane.api.get(*CLUSTER, self.world.name)["metadata"].get("annotations", {})
        return [key for key in annotations if "deletion-attempt" in key]


@pytest.fixture
def documented(shared_plane: Callable[[str], Plane], tmp_path: Path) -> Iterator[Callable[[str], Documented]]:
    """Return a function that gives a cluster of that name, on a plane with the policies."""
    plane = shared_plane("policed")
    with turn(plane):
        yield lambda name: Documented(plane, tmp_path, name)


def test_one_comes_and_goes(documented: Callable[[str], Documented]) -> None:
    """The example as the README applies it: looked at on the way, and deleted as the refusal says."""
    it = documented(yaml.safe_load(EXAMPLE.read_text())["metadata"]["name"])
    with it.world:
        it.shell("apply-local")
        it.shell("providers", part=_columns(3))
        it.shell("explain", part=first_lines(12))
        it.shell("bind-provider", {"ACCOUNT": "provider-kubernetes"})
        it.plane.kubectl("delete", "clusterrolebinding", "provider-kubernetes-local")
        it.world.ready()
        it.shell("describe-objects", part=lambda text: _object(text, it.world.leaf("settings").name))
        release = it.world.leaf("certificates").name
        it.shell("describe-releases", part=lambda text: _object(text, release))
        it.shell("plan-live")
        refused = it.plane.kubectl("delete", "inferencecluster", it.world.name, check=False)
        assert "has to ask for foreground propagation" in refused
        it.shell("delete")
        it.world.all_gone()
    it.shell.compare(TRANSCRIPTS / "comes-and-goes.console")


def test_in_use(documented: Callable[[str], Documented]) -> None:
    """A delete that a user of the cluster refuses: who it is, and how the attempt is forgotten."""
    it = documented("tern")
    with it.world:
        it.world.up("Local", "with-modelplane")
        let_go = it.used()
        it.shell("in-use")
        it.shell("delete", code=1)
        assert it.attempts()
        it.shell("forget")
        assert it.attempts() == []
        it.shell("delete-watched", code=6)
        _leave(it, let_go)
        it.plane.wait(lambda: not guarded(it.world), "its Usage is gone", 60, pause=0.3)
        it.shell("delete-watched")
        assert it.world.left() == []
    it.shell.compare(TRANSCRIPTS / "in-use.console")


def test_staged(documented: Callable[[str], Documented]) -> None:
    """A staged teardown that waits for a user: for whom, and how it is called off. The cluster stays."""
    it = documented("skua")
    with it.world:
        it.world.up("Local", "with-modelplane", {"deletion": {"mode": "Staged"}})
        let_go = it.used()
        it.shell("delete", code=1, part=_refusal)
        it.says("Teardown", "True", "WaitingForUsers")
        it.shell("waiting-for")
        it.shell("forget")
        it.says("Teardown", "False", "NotRequested")
        let_go()
    it.shell.compare(TRANSCRIPTS / "staged.console")


def test_a_class_is_missing(documented: Callable[[str], Documented]) -> None:
    """A cluster that waits for an InferenceClass that the list does not have."""
    it = documented("gull")
    with it.world:
        it.plane.api.apply(INFERENCE_CLASS)
        eks = {"source": "EKS", "eks": {"region": "us-west-2"}}
        pools = [{"name": "gpu", "className": MISSING, "zones": ["us-west-2a"]}]
        head = {"apiVersion": CLUSTER[0], "kind": CLUSTER[1], "metadata": {"name": it.world.name}}
        it.plane.api.create({**head, "spec": {"cluster": eks, "nodePools": pools}})
        it.says("ClusterReady", "False", "WaitingForClasses")
        assert MISSING not in it.shell("classes", part=_columns(1))
        it.shell("delete")
        it.world.all_gone()
    it.shell.compare(TRANSCRIPTS / "a-class-is-missing.console")


def _leave(it: Documented, let_go: Callable[[], None]) -> None:
    """Take the user of the cluster away; who would look only at his next poll is made to look."""
    let_go()
    it.plane.api.delete(head(REPLICA, it.replica, SYSTEM), "Foreground")

    def left() -> bool:
        for each in (head(OBJECT, it.replica, SYSTEM), head(CLUSTER, it.world.name)):
            with contextlib.suppress(ApiError):
                it.plane.api.patch(each, {"metadata": {"annotations": {NUDGE: secrets.token_hex(4)}}})
        return it.condition("DeletionProtected")[0] == "False"

    it.plane.wait(left, "nobody uses it", 120, pause=1)


def _refusal(text: str) -> str:
    """Pick what is said before how many Usages there are: the users' comes and goes."""
    return text.partition(" by ")[0]


def _columns(number: int) -> Callable[[str], str]:
    """Pick the first columns of a table."""
    return lambda text: "".join(f"{' '.join(line.split()[:number])}\n" for line in text.splitlines())


def _object(text: str, name: str) -> str:
    """Pick what a description says of one object: what it manages and its conditions by type, not when."""
    (section,) = [part for part in re.split(r"\n(?=Name: )", text) if part.split(None, 2)[1] == name]
    told = "".join(
        line for line in section.splitlines(keepends=True) if re.match(r"Name:|.*(Reason|Status|Type):", line)
    )
    conditions = iter(sorted(_CONDITION.findall(told), key=lambda each: str(each).splitlines()[-1]))
    return _CONDITION.sub(lambda _: next(conditions), told)  # Which came first is by chance.

"""`modelctl plan`: the order of every example, to the letter; pictures that are well formed and safe."""

import io
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

from function.order import TABLE
from modelctl import main
from modelctl.exits import Exit
from modelctl.order import mermaid, svg, text
from modelctl.order.assemble import Thing, assemble
from modelctl.order.graph import Graph, LoopError
from support import commands, documented, orders

EXAMPLES = orders.examples()
EKS = orders.ROOT / "examples" / "eks"
Manifest = dict[str, Any]


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_example(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Text, Mermaid and SVG are as they were; after a change that is meant, `make generate`."""
    for name, content in orders.draw(folder).items():
        assert content == (orders.EXPECTED / name).read_text(), name
    kinds = {"txt": "text", "mmd": "mermaid", "svg": "svg"}
    for suffix, kind in kinds.items():
        assert main.run(["plan", "-f", str(folder), "-o", kind]) == Exit.DONE
        assert capfd.readouterr().out == (orders.EXPECTED / f"{folder.name}.{suffix}").read_text()


def test_documented(capfd: pytest.CaptureFixture[str]) -> None:
    """The beginning of what the README's command prints stands below it."""
    ((command, shown),) = [c for c in commands.shown("operator/modelctl/README.md") if " plan " in c[0]]
    assert main.run(shlex.split(command)[1:]) == Exit.DONE
    documented.note(command)
    assert shown.endswith("\n...\n")
    assert capfd.readouterr().out.startswith(shown.removesuffix("...\n"))


def test_no_file_is_left_over() -> None:
    """Each expected file belongs to an example."""
    names = {f"{folder.name}.{kind}" for folder in EXAMPLES for kind in orders.DRAW}
    assert {path.name for path in orders.EXPECTED.iterdir()} == names


def _down(name: str) -> dict[str, int]:
    """Return the step down of each object in an expected file."""
    lines = (orders.EXPECTED / f"{name}.txt").read_text().partition("\nand goes")[2].partition("\nEach")[0]
    found = re.findall(r"^ +(\d+)  (\S+(?: \S+)?)", lines, re.MULTILINE)
    return {label: int(step) for step, label in found}


def test_the_order_is_the_one_that_is_promised() -> None:
    """What the README promises stands in the plan of the EKS example."""
    down = _down("eks")
    assert down["gateway"] < down["gateway-class"] < down["envoy-gateway"] < down["ProviderConfig helm"]
    assert (
        down["ProviderConfig kubernetes"]
        < down["ServingStack serving-stack"]
        < down["EKSCluster eks-cluster"]
    )
    assert max(down, key=lambda label: down[label]) == "InferenceCluster research"


def test_every_reason_is_the_functions_own() -> None:
    """The sentences come from the table, and each row is met in some example.

    But for the users' one, whom a manifest does not name, and those that an example would have to combine.
    """
    told = "\n".join((orders.EXPECTED / f"{folder.name}.txt").read_text() for folder in EXAMPLES)
    missing = {row.name for row in TABLE if f"\n      {row.why}\n" not in told}
    assert missing <= {"inference-cluster-until-user", "cluster-until-service"}


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_picture_is_well_formed(folder: Path) -> None:
    """The SVG is XML with a box for each object and an arrow for each hold, and holds no script or link."""
    root = ET.fromstring((orders.EXPECTED / f"{folder.name}.svg").read_text())  # noqa: S314 - our own file
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    chart = (orders.EXPECTED / f"{folder.name}.mmd").read_text()
    assert tags.count("rect") == len(re.findall(r"^ +n\d+\[", chart, re.MULTILINE))
    assert tags.count("path") - 1 == chart.count('-. "holds" .->')
    assert set(tags) <= {"svg", "title", "style", "defs", "marker", "path", "g", "rect", "text"}


# id, files below the repository or text on stdin, what the one line says
WRONG = [
    (
        "classes are missing",
        ["examples/eks/inferencecluster.yaml"],
        "Waiting for InferenceClasses: h100-8x, l40s-1x",
    ),
    ("no such file", ["examples/none.yaml"], "-f"),
    ("no composite", ["examples/functions.yaml"], "there is no InferenceCluster and no ServingStack"),
    ("two of them", ["examples/local", "examples/existing"], "there are 2 of kind InferenceCluster"),
]
STDIN = [
    ("not YAML", "a: [", "is not YAML"),
    ("no kind", "a: 1", "a document has no apiVersion or kind"),
    ("a list", "[]", "a document has no apiVersion or kind"),
    ("a source that is none", "Mainframe", "'Mainframe' is unknown; use one of Local"),
    ("no name", None, "metadata.name is required"),
]


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row[0])
def test_wrong_files(row: tuple[str, list[str], str], capfd: pytest.CaptureFixture[str]) -> None:
    """Files of which no plan can be made are one line that says why."""
    files = [part for file in row[1] for part in ("-f", str(orders.ROOT / file))]
    assert main.run(["plan", *files]) == Exit.USAGE
    _one_line(capfd, row[2])


@pytest.mark.parametrize("row", STDIN, ids=lambda row: row[0])
def test_wrong_text(
    row: tuple[str, str | None, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for what comes on stdin."""
    name, given, says = row
    if given in ("Mainframe", None):
        meta = {"name": "x"} if given else {}
        source = {"cluster": {"source": given or "Local"}}
        cluster = {"apiVersion": "modelplane.ai/v1alpha1", "kind": "InferenceCluster"}
        given = yaml.safe_dump({**cluster, "metadata": meta, "spec": source})
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    assert main.run(["plan", "-f", "-"]) == Exit.USAGE, name
    _one_line(capfd, says)


def _one_line(capfd: pytest.CaptureFixture[str], says: str) -> None:
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert says in err


def _thing(id_: str, kind: str, *, spec: Manifest | None = None, state: str = "") -> Thing:
    group = "protection.crossplane.io/v1beta1" if "Usage" in kind else "example.org/v1"
    meta = {"name": id_, "namespace": "tide"}
    manifest = {"apiVersion": group, "kind": kind, "metadata": meta, "spec": spec or {}}
    return Thing(id_, id_, manifest, step=1, state=state)


def _usage(id_: str, of: str, by: str) -> Thing:
    ends = {
        end: {"apiVersion": "example.org/v1", "kind": "Release", "resourceRef": {"name": name}}
        for end, name in (("of", of), ("by", by))
    }
    return _thing(id_, "Usage", spec=ends)


def _graph(*things: Thing) -> Graph:
    api = {"apiVersion": "modelplane.ai/v1alpha1", "kind": "InferenceCluster"}
    return assemble({**api, "metadata": {"name": "x"}}, things, "deleting")


def test_a_circle_is_told() -> None:
    """Objects that wait for one another for ever are named instead of drawn."""
    graph = _graph(
        _thing("a", "Release"), _thing("b", "Release"), _usage("u1", "a", "b"), _usage("u2", "b", "a")
    )
    with pytest.raises(LoopError, match="a waits for b waits for a"):
        graph.down("a")


def test_what_is_there_now() -> None:
    """Each object with its state and what holds it; a Usage without its user is about to let go."""
    guard = _thing("guard", "ClusterUsage", spec={"reason": "2 ModelReplicas are scheduled to it"})
    graph = _graph(
        _thing("envoy", "Release", state="deleting since noon"),
        _thing("gateway", "Release", state="gone"),
        _thing("class", "Release", state="ready"),
        _usage("u1", "envoy", "gateway"),
        _usage("u2", "envoy", "class"),
        _usage("u3", "class", "gateway"),
        guard,
    )
    assert text.live(graph) == [
        "gateway             gone",
        "class               ready                about to be let go of: gateway is gone",
        "envoy               deleting since noon  held by class; about to be let go of: gateway is gone",
        "InferenceCluster x  deleting             composed 2 that are there",
        "no delete of InferenceCluster x is accepted: 2 ModelReplicas are scheduled to it",
    ]


def test_names_are_escaped() -> None:
    """A name out of a file can neither end a label nor begin an element."""
    graph = _graph(_thing('"]; <script>', "Release"))
    assert "<script>" not in "\n".join(svg.draw(graph))
    (line,) = [line for line in mermaid.draw(graph) if "script" in line]
    assert line == '    n1["#34;#93;#59; #60;script#62;<br/>up 1, down 1"]'

"""What is generated is generated: CRD and RBAC in the tree are what the code makes of its models."""

import re

from llm_operator.generate import files
from llm_operator.teardown.knobs import KNOBS
from llm_operator.teardown.model import Reason, Stage
from operator_harness.world import DEPLOY


def test_no_diff() -> None:
    """`python -m llm_operator.generate` would change nothing."""
    for name, content in files().items():
        assert (DEPLOY / name).read_text() == content, f"{name} is stale: run python -m llm_operator.generate"


def test_the_readme_tells_every_stage_and_knob() -> None:
    """The README's tables name what the code has: the stages in their order, each knob, its annotation."""
    readme = (DEPLOY.parent / "README.md").read_text()
    stages = readme.split("## Stages")[1].split("## ")[0]
    assert re.findall(r"^\| (\w+) \|", stages, re.MULTILINE)[1:] == [str(stage) for stage in Stage]
    knobs = readme.split("## Knobs")[1].split("## ")[0]
    for knob in KNOBS:
        assert f"| `deletion.{knob.field}` | `{knob.annotation.split('/')[1]}` |" in knobs


def test_every_stage_has_its_reason() -> None:
    """The names that people see are those of the specification."""
    assert [str(stage) for stage in Stage] == [
        "RouteRemoving",
        "RouteSettling",
        "Uninstalling",
        "PodsTerminating",
        "ForceDeleting",
        "Released",
    ]
    assert {str(reason) for reason in Reason} == {
        "RouteRemoving",
        "RouteSettling",
        "RouteStuck",
        "NoRoute",
        "Uninstalled",
        "WaitingForPods",
        "PodsForceDeleted",
        "TimedOut",
        "Released",
    }

"""The stages of a staged teardown are the same in the code, the API and the README."""

from __future__ import annotations

import re

from function.cluster.teardown.request import Stage
from project.schemas import ROOT, nodes, schema_of

STAGES = [stage.value for stage in Stage]


def test_the_api_knows_every_stage() -> None:
    """A stage that the XRD does not list would fail every reconcile."""
    fields = dict(nodes(schema_of("InferenceCluster")))
    assert fields["status.teardown.stage"]["enum"] == STAGES


def test_the_readme_lists_them_in_order() -> None:
    """One row a stage."""
    section = (ROOT / "README.md").read_text().split("### Staged teardown")[1].split("\n### ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == STAGES

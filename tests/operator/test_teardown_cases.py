"""The teardown's cases.

One YAML file each, run by the controller as a process against a real API server and helm.
"""

from pathlib import Path

import pytest

from operator_harness.cases import Run, load
from operator_harness.world import TESTS, World

CASES = sorted((TESTS / "cases" / "teardown").glob("*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_teardown(path: Path, operator_world: World, tmp_path: Path) -> None:
    """The case holds."""
    case = load(path)
    assert case["id"] == path.stem
    Run(operator_world, case, tmp_path).play()

"""The release API's cases: one YAML file each, run by the server as a process against a real API server."""

from pathlib import Path

import pytest

from operator_harness.cases import load
from operator_harness.world import World
from releases_harness.cases import Run, cases

FOLDER = Path(__file__).parent / "cases"


@pytest.mark.parametrize("path", cases(FOLDER / "helm"), ids=lambda path: path.stem)
def test_helm(path: Path, release_world: World, tmp_path: Path) -> None:
    """The case of a helm release holds."""
    case = load(path)
    assert case["id"] == path.stem
    Run(release_world, case, tmp_path).play()


@pytest.mark.parametrize("path", cases(FOLDER / "llmsvc"), ids=lambda path: path.stem)
def test_llmsvc(path: Path, release_world: World, tmp_path: Path) -> None:
    """The case of an LLMService holds."""
    case = load(path)
    assert case["id"] == path.stem
    Run(release_world, {"backend": "llmsvc", **case}, tmp_path).play()

"""Every example renders, with the real `crossplane render`, to what stands in `expected`.

After a change that is meant: `python -m support.render --update`, and read the difference.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from controlplane.toolbox import Toolbox
from support import nebius, render
from support.rendering import (
    CASES,
    EXAMPLES,
    ROOT,
    Case,
    RenderError,
    composed,
    documents,
    load_cases,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.rendering import Renderer

Manifest = dict[str, Any]

ALL = load_cases()
FOLDERS = sorted(p for p in EXAMPLES.iterdir() if p.is_dir() and not p.name.startswith(("demo", "__")))
FILES = [FILE for folder in FOLDERS for FILE in sorted(folder.rglob("*.yaml"))]
COMPOSITES = ("InferenceCluster", "ServingStack", "Workspace")
STANDINS = ROOT / "tests" / "e2e" / "standins"
LATE = EXAMPLES / "late-step"
PATCHING = ROOT / "tests" / "support" / "patching.yaml"
# Kubernetes' own kinds: the CLI knows the schemas of what CRDs and XRDs define.
BUILT_IN = ("v1", "rbac.authorization.k8s.io/v1")


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    """Serve the function for the tests of this file."""
    with render.renderer() as made:
        yield made


@pytest.mark.parametrize("case", ALL.values(), ids=lambda case: case.name)
def test_renders_as_expected(renderer: Renderer, case: Case) -> None:
    """A case renders to its expected file, to the letter.

    Only the order of the results is made equal: the CLI itself sorts resources by key, writes all times as
    one, and derives UIDs and generated names from the names in the example.
    """
    assert renderer.render(case) == case.expected.read_text("utf-8")


def test_every_example_has_a_case() -> None:
    """No folder of examples and no composite in it goes untested."""
    assert {folder.name for folder in FOLDERS} == {case.example for case in ALL.values()}
    composites = {f for f in FILES for document in documents(f.read_text()) if document["kind"] in COMPOSITES}
    assert composites == {case.composite for case in ALL.values()}


def test_no_file_is_left_over() -> None:
    """Each file beside the cases belongs to one: a renamed case leaves nothing behind that looks tested."""
    used = {path for case in ALL.values() for path in (case.expected, *case.observed, *case.required)}
    there = {path for path in CASES.parent.rglob("*.yaml") if path != CASES}
    assert there == {path for path in used if path.is_relative_to(CASES.parent)}


@pytest.mark.parametrize("what", ["examples", "composed"])
def test_is_what_the_schemas_take(what: str, tmp_path: Path) -> None:
    """Examples, and all that is composed for them, fit the schemas and rules of an API server."""
    given = _composed() if what == "composed" else _examples()
    file = tmp_path / "resources.yaml"
    file.write_text(yaml.safe_dump_all(given))
    tools = Toolbox.ready()
    # Without an image of Crossplane: its own kinds come from its module's CRDs.
    command = [tools["crossplane-cli"], "resource", "validate", _extensions(tools, tmp_path), str(file)]
    options = ["--crossplane-image=", f"--cache-dir={tmp_path}", "--error-on-missing-schemas"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, check=False)
    problems = [line for line in done.stdout.splitlines() if not line.startswith("[✓]")]
    assert done.returncode == 0, "\n".join([*problems, done.stderr])
    # The CLI takes the input of a Composition for a resource too.
    number = len(given) + sum("input" in step for d in given for step in d["spec"].get("pipeline", []))
    assert problems == [
        f"Total {number} resources: 0 missing schemas, {number} success cases, 0 failure cases"
    ]


def _extensions(tools: Toolbox, folder: Path) -> str:
    providers = ("provider-kubernetes", "provider-helm")
    admitted = [nebius.admit_in(tools.assets[name] / "crds", folder / name) for name in providers]
    assets = (tools.assets["crossplane"] / "crds", *admitted)
    package = ROOT / "package"
    ours = (
        package / "configuration" / "apis",
        package / "function" / "input",
        LATE / "definition.yaml",
        PATCHING,
    )
    return ",".join(str(path) for path in (*ours, *sorted(STANDINS.glob("*.yaml")), *assets))


def _examples() -> list[Manifest]:
    found = (document for file in FILES for document in documents(file.read_text("utf-8")))
    return [document for document in found if document["apiVersion"] not in BUILT_IN]


def _composed() -> list[Manifest]:
    """Return all composed resources, and each composite with the status that it gets.

    A status field that the XRD does not declare fails every reconcile.
    """
    found: list[Manifest] = []
    for case in ALL.values():
        text = case.expected.read_text("utf-8")
        (given,) = documents(case.composite.read_text("utf-8"))
        found += [{**given, "status": documents(text)[0]["status"]}, *composed(text).values()]
    return found


def test_an_unknown_name_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """A name that does not exist is answered with those that do, on one line."""
    assert render.main(["nothing-like-it"]) == 1
    error = capfd.readouterr().err
    assert error.startswith("error: no example or case 'nothing-like-it'; there are aks, ")
    assert error.count("\n") == 1


def test_a_program_that_cannot_be_had_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where the CLI or Crossplane can be neither found nor built, one line says which and why."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # no folder can be made below a file
    assert render.main(["local"]) == 1
    error = capfd.readouterr().err
    assert error.startswith("error: cannot build crossplane: [Errno 20] Not a directory")
    assert error.count("\n") == 1


def test_what_the_function_refuses_is_one_line(renderer: Renderer, tmp_path: Path) -> None:
    """A fatal result of the function is shown with its reason, on one line."""
    local = ALL["local"]
    composite = tmp_path / "inferencecluster.yaml"
    composite.write_text(local.composite.read_text("utf-8").replace("source: Local", "source: Mainframe"))
    fields = {f: getattr(local, f) for f in ("composition", "definition")}
    with pytest.raises(RenderError, match="'Mainframe' is unknown; use one of Local") as caught:
        renderer.render(Case("refused", "", composite, **fields))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_nothing_runs_on_after_a_signal(number: signal.Signals, code: int) -> None:
    """Ctrl-C or a kill ends the function that the command serves."""
    command = [sys.executable, "-m", "support.render"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has rendered, so the function is being served
        children = _children(process.pid)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == code
    assert children, "no child was seen, so nothing was proved"
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, f"still running: {children}"
        time.sleep(0.1)


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

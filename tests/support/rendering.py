"""The cases of `make render`: an example, what is observed at some time, and what the CLI makes of both."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from support.calls import observed_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

Manifest = dict[str, Any]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CASES = ROOT / "tests" / "render" / "cases.yaml"
EXPECTED = CASES.parent / "expected"
FUNCTIONS = EXAMPLES / "functions.yaml"
APIS = ROOT / "package" / "configuration" / "apis"
FOLDERS = {"InferenceCluster": APIS / "inferenceclusters", "ServingStack": APIS / "servingstacks"}
KEY = "crossplane.io/composition-resource-name"

_RENDER_SECONDS = 60.0
_RESULT = "---\napiVersion: render.crossplane.io/v1beta1\nkind: Result\n"
_RULE = "# " + "-" * 100


class RenderError(Exception):
    """Something could not be rendered; the message says what and what to do."""


@dataclass(frozen=True)
class Programs:
    """The two programs: the CLI, and Crossplane itself, whose reconciler the CLI runs."""

    cli: Path
    core: Path


@dataclass(frozen=True)
class Case:
    """One entry of cases.yaml; paths are absolute."""

    name: str
    says: str
    composite: Path
    composition: Path
    definition: Path
    required: tuple[Path, ...] = ()
    after: str = ""
    observed: tuple[Path, ...] = ()
    passes: int = 1
    functions: Path = FUNCTIONS

    @property
    def example(self) -> str:
        """The folder of its example."""
        return self.composite.parent.name

    @property
    def expected(self) -> Path:
        """The file that holds what it renders to."""
        return EXPECTED / f"{self.name}.yaml"


def load_cases() -> dict[str, Case]:
    """Read cases.yaml."""
    given: Manifest = yaml.safe_load(CASES.read_text("utf-8"))
    return {name: _case(name, fields) for name, fields in given.items()}


def _case(name: str, fields: Manifest) -> Case:
    composite = EXAMPLES / fields.pop("composite")
    kind = documents(composite.read_text("utf-8"))[0]["kind"]
    # An API of the example's own comes with it.
    folder = FOLDERS.get(kind, composite.parent)
    own = composite.parent / "composition.yaml"
    functions = composite.parent / "functions.yaml"
    if functions.exists():
        fields["functions"] = functions
    for paths in ("required", "observed"):
        fields[paths] = tuple(ROOT / path for path in fields.get(paths, []))
    composition = own if own.exists() else folder / "composition.yaml"
    definition = folder / "definition.yaml"
    return Case(name, composite=composite, composition=composition, definition=definition, **fields)


def documents(text: str) -> list[Manifest]:
    """Return the YAML documents of a text."""
    return [document for document in yaml.safe_load_all(text) if document]


def key(manifest: Manifest) -> str:
    """Return the key of a composed resource, or nothing where it is something else."""
    found: str = manifest.get("metadata", {}).get("annotations", {}).get(KEY, "")
    return found


def composed(text: str) -> dict[str, Manifest]:
    """Return the composed resources of what the CLI printed, by key."""
    return {key(document): document for document in documents(text) if key(document)}


@dataclass
class Renderer:
    """Runs the CLI against a function that is being served at `address`."""

    programs: Programs
    address: str
    _known: dict[str, str] = field(default_factory=dict)

    def render(self, case: Case, *, fresh: bool = False) -> str:
        """Return the case's heading and what the CLI prints.

        What is observed comes from the expected file of the case before, or, `fresh`, from rendering that
        one too.
        """
        base = self._before(case, fresh=fresh)
        for _ in range(case.passes - 1):
            base = _made(composed(self._run(case, base)))
        observed = _overlay(base, case.observed)
        printed = self._run(case, observed)
        text = heading(case, observed, composed(printed)) + printed
        self._known[case.name] = text
        return text

    def _before(self, case: Case, *, fresh: bool) -> dict[str, Manifest]:
        if not case.after:
            return {}
        before = load_cases()[case.after]
        if not fresh:
            text = before.expected.read_text("utf-8")
        else:
            text = self._known.get(before.name) or self.render(before, fresh=True)
        return _made(composed(text))

    def _run(self, case: Case, observed: dict[str, Manifest]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "observed.yaml"
            path.write_text(yaml.safe_dump_all(observed.values()))
            command = [*self._command(case), *(["--observed-resources", str(path)] if observed else [])]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=_RENDER_SECONDS, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise RenderError(f"{case.name}: no answer within {_RENDER_SECONDS:.0f} s") from error
        if done.returncode:
            raise RenderError(f"{case.name}: {' '.join(done.stderr.split())}")
        return _sorted(done.stdout)

    def _command(self, case: Case) -> list[str]:
        """Return the command line: whatever functions.yaml names is what is served here."""
        return [
            *(str(self.programs.cli), "composition", "render"),
            *(str(path) for path in (case.composite, case.composition, case.functions)),
            *("--xrd", str(case.definition), "--include-function-results"),
            f"--crossplane-binary={self.programs.core}",
            "--function-annotations=render.crossplane.io/runtime=Development",
            f"--function-annotations=render.crossplane.io/runtime-development-target={self.address}",
            *(f"--required-resources={path}" for path in case.required),
        ]


def _sorted(printed: str) -> str:
    """Sort the results at the end: Crossplane reports unready resources in the order of a Go map."""
    head, *results = printed.split(_RESULT)
    return "".join([head, *(_RESULT + result for result in sorted(results))])


def _made(resources: dict[str, Manifest]) -> dict[str, Manifest]:
    """Return composed resources as Crossplane observes them next: there, ready, Usages in force."""
    made: dict[str, Manifest] = {}
    for name, manifest in resources.items():
        metadata = {**observed_metadata(manifest), "uid": f"uid-of-{name}"}
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        made[name] = {**manifest, "metadata": metadata, "status": status}
    return made


def _overlay(observed: dict[str, Manifest], files: Sequence[Path]) -> dict[str, Manifest]:
    """Merge what the files say into what is observed; what is not there yet is added."""
    merged = dict(observed)
    for path in files:
        for document in documents(path.read_text("utf-8")):
            merged[key(document)] = _merge(merged.get(key(document), {}), document)
    return merged


def _merge(base: Manifest, more: Manifest) -> Manifest:
    merged = dict(base)
    for name, value in more.items():
        inner = merged.get(name)
        if isinstance(value, dict) and isinstance(inner, dict):
            merged[name] = _merge(inner, value)
        else:
            merged[name] = value
    return merged


def heading(case: Case, observed: dict[str, Manifest], wanted: dict[str, Manifest]) -> str:
    """Return the comment above a case: its name, what it shows, and what comes, stays and goes.

    The CLI prints what is desired. What Crossplane deletes is what is observed and not printed.
    """
    new = {name: manifest for name, manifest in wanted.items() if name not in observed}
    gone = {name: manifest for name, manifest in observed.items() if name not in wanted}
    lines = [
        f"{case.name}: {case.composite.relative_to(ROOT)}",
        case.says,
        f"creates: {_names(new)}",
        f"keeps: {len(wanted) - len(new)} of {len(observed)} resources",
        f"deletes: {_names(gone)}",
    ]
    return "\n".join([_RULE, *(f"# {line}" for line in lines), _RULE, ""])


def _names(resources: dict[str, Manifest]) -> str:
    usages = [name for name, manifest in resources.items() if manifest["kind"] in ("Usage", "ClusterUsage")]
    named = sorted(resources.keys() - set(usages))
    counted = [f"{len(usages)} Usage{'s' * (len(usages) > 1)}"] if usages else []
    return ", ".join([*named, *counted]) or "nothing"

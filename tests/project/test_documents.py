"""What the documents name is there: targets of make, files, links, modules, versions."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from controlplane.catalog import BINARIES, MODULES
from modelctl.commands import COMMANDS
from support.reference import pages

ROOT = Path(__file__).parents[2]
FOLDERS = ("examples", "function", "operator", "package", "policies", "tests")
FILES = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.*")]
DOCUMENTS = ["README.md", *sorted(str(f.relative_to(ROOT)) for f in FILES if f.suffix == ".md")]
REFERENCES = "\n".join((ROOT / name).read_text() for name in pages.files())
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
MAKE = re.compile(r"(?:`|^)make ([a-z-]+)", re.MULTILINE)
MODULE = re.compile(r"python -m ([\w.]+)")
MODELCTL = re.compile(r"(?:`|^|/)modelctl ([a-z]+(?: [a-z]+)?)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./-]*[\w/]")
# A repository path in a registry that begins as a folder of ours does.
NO_PATHS = {"function/inference-cluster"}
TEST = re.compile(r"\btest_\w+\.py\b")
NAME = re.compile(r"`([A-Z][a-z][A-Za-z]+)`")


def read(document: str) -> str:
    """Return the text of a document."""
    return (ROOT / document).read_text()


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, as they are linked to."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_targets_of_make(document: str) -> None:
    """`make X` has an X in the Makefile."""
    assert set(MAKE.findall(read(document))) <= TARGETS


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths(document: str) -> None:
    """A path that begins with a folder of the tree is in the tree."""
    named = set(PATH.findall(read(document))) - NO_PATHS
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    assert set(TEST.findall(read(document))) <= {file.name for file in FILES}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links(document: str) -> None:
    """A link within the tree leads to a file, and to a heading in it."""
    for link in LINK.findall(read(document)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = ROOT / document if not path else (ROOT / document).parent / path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text()), link


@pytest.mark.parametrize("document", DOCUMENTS)
def test_modules(document: str) -> None:
    """`python -m X` has an X."""
    named = set(MODULE.findall(read(document)))
    assert [name for name in sorted(named) if importlib.util.find_spec(name) is None] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_of_modelctl(document: str) -> None:
    """`modelctl X` is a command."""
    known = {" ".join(command.words) for command in COMMANDS}
    for words in MODELCTL.findall(read(document)):
        assert words in known or words.split()[0] in known, words


def test_troubleshooting_names_what_there_is() -> None:
    """Conditions, reasons, stages and annotations of ours in it are in the references."""
    section = read("README.md").split("## Troubleshooting")[1].split("\n## ")[0]
    named = {*NAME.findall(section), *re.findall(r"serving\.modelsphere\.dev/[a-z-]+", section)}
    assert [name for name in sorted(named) if f"`{name}`" not in REFERENCES] == []


def test_every_example_is_listed() -> None:
    """A folder of examples has its row."""
    folders = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()} - {"__pycache__"}
    assert set(re.findall(r"^\| `([\w-]+)/` \|", read("examples/README.md"), re.MULTILINE)) == folders


TESTED = {
    "Kubernetes": "k8s.io/kubernetes",
    "Crossplane": "github.com/crossplane/crossplane/v2",
    "Crossplane CLI": "github.com/crossplane/cli/v2",
    "provider-kubernetes": "github.com/crossplane-contrib/provider-kubernetes",
    "provider-helm": "github.com/crossplane-contrib/provider-helm",
    "Helm": "helm.sh/helm/v4",
}


@pytest.mark.parametrize("name", TESTED)
def test_tested_versions(name: str) -> None:
    """The compatibility table names the version that is built and started."""
    section = read("README.md").split("## Compatibility")[1].split("\n## ")[0]
    told = re.search(rf"^\| {name} \| .* \| ([\d.]+) \|$", section, re.MULTILINE)
    assert told
    assert told[1] == built(TESTED[name])


LEAST = {
    "Kubernetes": ("policies/chart/Chart.yaml", r'kubeVersion: ">=([\d.]+)\.0-0"'),
    "Crossplane": ("package/configuration/crossplane.yaml", r'version: ">=v(2\.\d+)\.0"'),
    "provider-kubernetes": ("package/configuration/crossplane.yaml", r'-kubernetes\n.*">=v([\d.]+)\.0 '),
    "provider-helm": ("package/configuration/crossplane.yaml", r'-helm\n.*">=v([\d.]+)\.0 '),
    "Python": ("pyproject.toml", r'requires-python = ">=([\d.]+)"'),
}


@pytest.mark.parametrize("name", LEAST)
def test_least_versions(name: str) -> None:
    """The compatibility table promises what the packages demand."""
    file, pattern = LEAST[name]
    told = re.search(rf"^\| {name} \| ([\d.]+) or later", read("README.md"), re.MULTILINE)
    demanded = re.search(pattern, (ROOT / file).read_text())
    assert told
    assert demanded
    assert told[1] == demanded[1]


def built(module: str) -> str:
    """Return the version of a module in the folder that takes a program from it."""
    commands = {m.folder: m.commands.values() for m in MODULES}
    (folder,) = [f for f, packages in commands.items() if any(p.startswith(module) for p in packages)]
    found = re.search(rf"\t{re.escape(module)} v(\S+)", (BINARIES / folder / "go.mod").read_text())
    assert found
    return found[1]

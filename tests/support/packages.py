"""Builds this project's packages and images, and pushes them: `python -m support.packages build|push|record`.

The images come from `package.images`, the packages from the real `crossplane xpkg build`, the controller's
chart from the real `helm package`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from controlplane.errors import ControlPlaneError
from controlplane.toolbox import Toolbox
from package.images import sources, table, write
from package.images.errors import ImageError
from package.images.sources import ROOT
from support import operator_chart

FUNCTION, CONFIGURATION = "function-inference-cluster", "configuration-inference-cluster"
PUBLIC = "xpkg.crossplane.io/function/inference-cluster"
OUTPUT = ROOT / "build"
_HOST = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?")
_PATH = re.compile(r"[a-z0-9._/-]*[a-z0-9]")
Run = Callable[[list[str]], tuple[int, str]]


@dataclass(frozen=True)
class Variant:
    """What may differ from the packages as they are in the tree.

    `registry` (host/organisation) is where the Configuration finds the Function, and ServingStacks the chart
    of the controller; `settings` are the Settings of the ServingStack's Composition; `version` is recorded in
    both packages.
    """

    registry: str = ""
    settings: Path | None = None
    version: str = f"v{sources.version(ROOT)}"


def build(folder: Path, variant: Variant, tools: Toolbox) -> None:
    """Build all images and both packages into the folder."""
    for row in table.IMAGES:
        programs = {name: Path(tools[name]) for name in row.programs}
        _say(str(write.build(row.name, folder, programs).archive))
    build_packages(folder, variant, tools)


def build_packages(folder: Path, variant: Variant, tools: Toolbox) -> None:
    """Build chart and packages, the Function's around the image that lies in the folder already."""
    _say(
        str(operator_chart.pack(folder, variant.registry, variant.version, lambda given: _helm(tools, given)))
    )
    with tempfile.TemporaryDirectory() as work:
        for name in (FUNCTION, CONFIGURATION):
            root = Path(work) / name
            shutil.copytree(ROOT / "package" / name.partition("-")[0], root)
            stamp(root, variant)
            extra = [f"--embed-runtime-image-tarball={folder / name}.tar"] if name == FUNCTION else []
            _say(str(_xpkg(tools, root, folder / f"{name}.xpkg", extra)))


def pack_chart(folder: Path, variant: Variant, tools: Toolbox) -> Path:
    """Package the controller's chart into the folder."""
    return operator_chart.pack(folder, variant.registry, variant.version, partial(_helm, tools))


def stamp(root: Path, variant: Variant) -> None:
    """Write what the variant says into a copy of a package's folder."""
    meta = root / "crossplane.yaml"
    text = meta.read_text()
    if variant.registry:
        text = text.replace(f"package: {PUBLIC}\n", f"package: {variant.registry}/{FUNCTION}\n")
    found = yaml.safe_load(text)
    found["metadata"]["annotations"]["meta.crossplane.io/version"] = variant.version
    meta.write_text(yaml.safe_dump(found, sort_keys=False))
    for composition in root.glob("apis/*/composition.yaml"):
        content = yaml.safe_load(composition.read_text())
        (step,) = content["spec"]["pipeline"]
        if variant.registry:
            step["functionRef"]["name"] = installed_name(variant.registry, FUNCTION)
        if composition.parent.name == "servingstacks":
            step["input"] = settings(step["input"], variant)
        composition.write_text(yaml.safe_dump(content, sort_keys=False))


def settings(given: dict[str, Any], variant: Variant) -> dict[str, Any]:
    """Return the Settings of the ServingStack's Composition, by those in the tree.

    They name the controller's chart where one is pushed, unless they say where another lies, or null: none.
    """
    if variant.settings:
        given = yaml.safe_load(variant.settings.read_text())
    if variant.registry:
        given = {**given, **_operator(given, variant)}
    return {key: value for key, value in given.items() if value is not None}


def _operator(given: dict[str, Any], variant: Variant) -> dict[str, Any]:
    said = {"operatorChart": operator_chart.setting(variant.registry, variant.version)}
    return {} if "operatorChart" in given else said


def installed_name(registry: str, name: str) -> str:
    """Return the name that Crossplane gives to a package of that registry, also as a dependency.

    It has to be the installed one's. Under another, Crossplane puts the dependency in a second time during
    an upgrade, when the old revision has left its lock and the new one is not in it yet: both stay unhealthy.
    """
    path = f"{registry.partition('/')[2]}/{name}"
    return re.sub(r"[./:-]", "-", re.sub(r"[^a-z0-9./:-]", "", path))[:63].strip("-")


def _xpkg(tools: Toolbox, root: Path, file: Path, extra: list[str]) -> Path:
    command = [tools["crossplane-cli"], "xpkg", "build", f"--package-root={root}", f"--package-file={file}"]
    # Otherwise the CLI takes the examples of whatever folder it runs in into the package.
    code, said = run([*command, f"--examples-root={root / 'examples'}", *extra])
    if code:
        raise ControlPlaneError(f"building {file.name} failed: {said}")
    return file


def _helm(tools: Toolbox, arguments: list[str]) -> None:
    code, said = run([tools["helm"], *arguments])
    if code:
        raise ControlPlaneError(f"packaging the chart failed: {said}")


def push(folder: Path, registry: str, tag: str, tools: Toolbox, by: Run) -> list[str]:
    """Push both packages, the images that are installed by themselves and the chart; returns their names."""
    names = []
    for file in _to_push(folder, tag):
        name = f"{registry}/{file.stem}:{tag}"
        match file.suffix:
            case ".xpkg":
                command = [tools["crossplane-cli"], "xpkg", "push", "-f", str(file), name]
            case ".tgz":
                name = f"{registry}/charts/{operator_chart.NAME}:{operator_chart.version(tag)}"
                command = operator_chart.push(file, registry, tools)
            case _:
                command = [tools["crane"], "push", str(file), name]
        code, said = by(command)
        if code:
            raise ControlPlaneError(f"pushing {name} failed: {said}")
        names.append(name)
    return names


def _to_push(folder: Path, tag: str) -> list[Path]:
    # The Function's image travels inside its package. What a Configuration names goes before it.
    images = [folder / f"{row.name}.tar" for row in table.IMAGES if row.name != FUNCTION]
    packages = [folder / f"{FUNCTION}.xpkg", folder / f"{CONFIGURATION}.xpkg"]
    files = [*images, operator_chart.archive(folder, tag), *packages]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        raise ControlPlaneError(f"{folder} has no {', '.join(missing)}: run `make packages` first")
    return files


def run(command: list[str]) -> tuple[int, str]:
    """Run a command on this machine; returns its code and what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stderr or done.stdout).strip()


def check_registry(registry: str) -> None:
    """Raise ControlPlaneError unless this is host/organisation, as Crossplane and the CLI take it."""
    host, _, path = registry.partition("/")
    if not _HOST.fullmatch(host) or not _PATH.fullmatch(path):
        raise ControlPlaneError(
            f"REGISTRY={registry!r} names no registry: give host/organisation, the host with a dot in its "
            "name, such as registry.example.org/team"
        )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m support.packages", description=__doc__)
    parser.add_argument("command", choices=["build", "push", "record"])
    parser.add_argument("--registry", default="", help="host/organisation")
    parser.add_argument("--settings", type=Path, help="a file with the Settings of the ServingStack")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    given = parser.parse_args()
    try:
        if given.command == "push" or given.registry:
            check_registry(given.registry)
        variant = Variant(given.registry, given.settings)
        tools = Toolbox.ready()
        if given.command in ("build", "push"):
            build(given.output, variant, tools)
        if given.command == "push":
            _say("\n".join(push(given.output, given.registry, variant.version, tools, run)))
        if given.command == "record":
            sources.record({name: Path(tools[name]) for row in table.IMAGES for name in row.programs})
    except (ControlPlaneError, ImageError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The Helm chart of the LLMService controller as `make push` offers it: beside the image that it names."""

from __future__ import annotations

import ipaddress
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from controlplane.errors import ControlPlaneError
from package.images.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from controlplane.toolbox import Toolbox

NAME = "llm-operator"
CHART = ROOT / "operator" / "deploy" / "chart"
# What the chart's own values say of the image, and what they say in the pushed one.
_IMAGE = 'image: {repository: llm-operator, tag: ""}\n'
_PUSHED = 'image: {{repository: "{registry}/llm-operator", tag: "{tag}"}}\n'


def repository(registry: str) -> str:
    """Return where the chart lies, by the registry (host/organisation) that it is pushed to."""
    return f"oci://{registry}/charts"


def version(tag: str) -> str:
    """Return the chart's version for a tag: Helm wants it without the v."""
    return tag.removeprefix("v")


def archive(folder: Path, tag: str) -> Path:
    """Return the file that `pack` writes."""
    return folder / f"{NAME}-{version(tag)}.tgz"


def setting(registry: str, tag: str) -> dict[str, Any]:
    """Return what Settings say of the pushed chart, as `operatorChart`."""
    place = {"repository": repository(registry), "version": version(tag)}
    return {**place, "plainHTTP": True} if is_loopback(registry) else place


def is_loopback(registry: str) -> bool:
    """Whether the registry is on this machine: Crossplane and crane then take plain HTTP, Helm when told."""
    host = registry.partition("/")[0].partition(":")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def pack(folder: Path, registry: str, tag: str, helm: Callable[[list[str]], None]) -> Path:
    """Package the chart into the folder; where a registry is given its image is the one that lies there.

    `helm` runs helm with these arguments. Two packages of one tree are equal byte for byte.
    """
    with tempfile.TemporaryDirectory() as work:
        root = Path(work) / NAME
        shutil.copytree(CHART, root)
        if registry:
            stamp(root / "values.yaml", registry, tag)
        for path in root.rglob("*"):
            os.utime(path, (0, 0))
        named = version(tag)
        helm(
            ["package", str(root), f"--version={named}", f"--app-version={named}", f"--destination={folder}"]
        )
    return archive(folder, tag)


def stamp(values: Path, registry: str, tag: str) -> None:
    """Write the image's place into the chart's values."""
    text = values.read_text()
    if text.count(_IMAGE) != 1:
        raise ControlPlaneError(f"{values} has no line {_IMAGE.strip()!r}: what would name the image?")
    values.write_text(text.replace(_IMAGE, _PUSHED.format(registry=registry, tag=tag)))


def push(file: Path, registry: str, tools: Toolbox) -> list[str]:
    """Return the command that pushes the packaged chart."""
    plain = ["--plain-http"] if is_loopback(registry) else []
    return [tools["helm"], "push", str(file), repository(registry), *plain]


def row() -> dict[str, Any]:
    """Return the built-in table's row of the controller, for a table of one's own."""
    table = yaml.safe_load((ROOT / "function" / "stack" / "components.yaml").read_text())
    (found,) = (entry for entry in table if entry["name"] == NAME)
    return dict(found)

"""The policies' Helm chart installs what the kustomization does, whatever its values say."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from controlplane.toolbox import Toolbox
from policies.bundle import documents, kustomize
from policies.table import BUNDLE
from support import flatten

if TYPE_CHECKING:
    from pathlib import Path

    from policies.kinds import Object

MOVED = """
resources: [{policies}, crossplane.yaml]
components: [{component}]
"""
NAMESPACE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: crossplane, annotations: {config.kubernetes.io/local-config: "true"}}
data: {namespace: upbound-system}
"""


def _helm(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [Toolbox.ready()["helm"], "template", "policies", str(BUNDLE / "chart"), *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _moved(folder: Path) -> Path:
    """Write the kustomization that the README gives for a Crossplane in another namespace."""
    # kustomize takes relative paths only.
    up = "/".join([".."] * (len(folder.parts) - 1))
    paths = {"policies": f"{up}{BUNDLE}", "component": f"{up}{BUNDLE}/components/crossplane-namespace"}
    (folder / "kustomization.yaml").write_text(MOVED.format(**paths))
    (folder / "crossplane.yaml").write_text(NAMESPACE)
    return folder


@pytest.mark.parametrize(
    ("flags", "overlay"),
    [
        ((), "overlays/enforce"),
        (("--set=mode=audit",), "overlays/audit"),
        (("--set=crossplaneNamespace=upbound-system",), ""),
    ],
    ids=["enforce", "audit", "crossplane elsewhere"],
)
def test_the_chart_is_the_kustomization(flags: tuple[str, ...], overlay: str, tmp_path: Path) -> None:
    """Each value of the chart gives what the overlay or the component of the same purpose gives."""
    rendered = _helm(*flags)
    assert rendered.returncode == 0, rendered.stderr
    built = kustomize(Toolbox.ready()["kubectl"], BUNDLE / overlay if overlay else _moved(tmp_path))
    assert _keyed(rendered.stdout) == _keyed(built)


def _keyed(text: str) -> dict[tuple[str, str], Object]:
    return {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in documents(text)}


def test_an_unknown_mode_is_refused() -> None:
    """A mode that is misspelt installs nothing."""
    rendered = _helm("--set=mode=enforced")
    assert rendered.returncode != 0
    assert "mode" in rendered.stderr


def test_generated_files_are_fresh() -> None:
    """`make generate` would change neither the flat file nor the chart's template."""
    built = kustomize(Toolbox.ready()["kubectl"], BUNDLE)
    assert (BUNDLE / "bundle.yaml").read_text() == built
    assert flatten.TEMPLATE.read_text() == flatten.template(built)

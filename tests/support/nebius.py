"""Lets the providers' CRDs of the versions that are built here take Nebius' identity.

provider-kubernetes has it since 1.3.0, provider-helm since 1.4.0. What a ProviderConfig says is what counts
here; nobody logs in to Nebius with it.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

    from controlplane.plane import Plane

Manifest = dict[str, Any]

TYPE = "NebiusServiceAccountCredentials"
CRDS = tuple(
    f"{scope}providerconfigs.{provider}.m.crossplane.io"
    for provider in ("kubernetes", "helm")
    for scope in ("", "cluster")
)


def admit(crd: Manifest) -> Manifest:
    """Return the CRD with one more type of identity."""
    for version in crd["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        types = spec["identity"]["properties"]["type"]["enum"]
        if TYPE not in types:
            types.append(TYPE)
    return crd


def admit_in(folder: Path, target: Path) -> Path:
    """Copy the CRDs of a provider to `target`, those of its ProviderConfigs as `admit` returns them."""
    shutil.copytree(folder, target)
    for name in CRDS:
        plural, _, group = name.partition(".")
        file = target / f"{group}_{plural}.yaml"
        if file.exists():
            file.write_text(yaml.safe_dump(admit(yaml.safe_load(file.read_text("utf-8")))), "utf-8")
    return target


def admit_on(plane: Plane) -> None:
    """Patch the CRDs on a control plane; Crossplane writes them back when it next looks at the provider."""
    for name in CRDS:
        crd = plane.api.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
        plane.api.patch(crd, {"spec": {"versions": admit(crd)["spec"]["versions"]}})

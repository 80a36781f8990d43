"""protect-platform with the real package manager: definitions, upgrades, a removed Configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from controlplane.errors import ControlPlaneError
from policies import planes, small_platform, watching
from policies.kinds import KINDS, PATIENCE, Object
from policies.small_platform import CONFIGURATION, FUNCTION, HOME, PACKAGES, XRDS
from support.shell import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from controlplane.plane import Plane

COMPOSITIONS = "apiextensions.crossplane.io/v1"
CRDS = "apiextensions.k8s.io/v1"
ALLOW = "policies.modelplane.ai/allow-deletion=true"
CLUSTERS = KINDS["InferenceCluster"]
NAME = small_platform.xrd_name("InferenceCluster")


# What a package manager that works in peace is never refused.
PLATFORM = {
    "compositeresourcedefinitions",
    "compositions",
    "configurations",
    "functions",
    "customresourcedefinitions",
}


@pytest.fixture(autouse=True)
def _alone(platform: Plane) -> Iterator[None]:
    """Keep other tests of this file from the packages of the plane meanwhile."""
    with planes.exclusive(platform, "packages"):
        yield


def _wait_for_configuration(plane: Plane, version: str) -> None:
    image = small_platform.push_configuration(plane, version)
    plane.packages.install("Configuration", CONFIGURATION, image, PATIENCE)
    plane.wait(
        lambda: _composition_version(plane) == version, f"the Compositions are those of {version}", PATIENCE
    )


def _composition_version(plane: Plane) -> str:
    found = plane.api.get(COMPOSITIONS, "Composition", NAME)
    return str(found["metadata"]["labels"]["version"])


def _cluster(plane: Plane, name: str) -> Object:
    metadata = {"name": name}
    manifest = {"apiVersion": CLUSTERS.api_version(), "kind": CLUSTERS.kind, "metadata": metadata, "spec": {}}
    cluster = plane.api.apply(manifest)
    plane.wait(
        lambda: plane.api.find("v1", "ConfigMap", f"{name}-stack-settings", HOME),
        "the leaf is there",
        PATIENCE,
    )
    return cluster


def _is_reconciled(plane: Plane, name: str) -> bool:
    """Take the leaf away and see it composed again: the whole tree above it is alive."""
    leaf = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-stack-settings", "namespace": HOME},
    }
    old = plane.api.get("v1", "ConfigMap", f"{name}-stack-settings", HOME)["metadata"]["uid"]
    plane.api.delete(leaf)

    def again() -> bool:
        found = plane.api.find("v1", "ConfigMap", f"{name}-stack-settings", HOME)
        return found is not None and found["metadata"]["uid"] != old

    return plane.wait(again, "the leaf is composed again", PATIENCE)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("configuration", CONFIGURATION),
        ("function", FUNCTION),
        ("xrd", NAME),
        ("composition", NAME),
        ("crd", NAME),
    ],
)
def test_refused_and_left_alone(platform: Plane, kind: str, name: str) -> None:
    """Neither propagation policy gets past protect-platform, and the object is not marked for deletion."""
    for cascade in ("background", "foreground", "orphan"):
        with pytest.raises(ControlPlaneError, match="protect-platform"):
            platform.kubectl("delete", kind, name, f"--cascade={cascade}")
    assert platform.kubectl("get", kind, name, "-o", "jsonpath={.metadata.deletionTimestamp}") == ""


def test_definition_goes_by_annotation(platform: Plane, tmp_path: Path) -> None:
    """With the annotation an XRD is deleted, and Crossplane deletes its CRD under its own account."""
    name = small_platform.xrd_name("ModelCache")
    with pytest.raises(ControlPlaneError, match=f"kubectl annotate {'.*'} {name} {ALLOW}"):
        platform.kubectl("delete", "xrd", name)
    Shell(platform.tools, tmp_path, platform.kubeconfig)("break-the-glass-of-a-definition")
    platform.kubectl("delete", "xrd", name, "--wait=false")
    platform.wait(
        lambda: platform.api.find(XRDS, "CompositeResourceDefinition", name) is None,
        "the XRD is gone",
        PATIENCE,
    )
    platform.wait(
        lambda: platform.api.find(CRDS, "CustomResourceDefinition", name) is None, "the CRD is gone", PATIENCE
    )
    crds = [
        d for d in watching.deletes(platform) if (d.resource, d.name) == ("customresourcedefinitions", name)
    ]
    assert (watching.CROSSPLANE, 200) in {(d.user, d.code) for d in crds}


def test_upgrade_passes(platform: Plane) -> None:
    """A new version of the Configuration replaces the old one without a single delete being refused."""
    cluster = _cluster(platform, "tern-upgraded")
    before = len(list(watching.deletes(platform)))
    _wait_for_configuration(platform, "v0.2.0")
    servers = {watching.CROSSPLANE, watching.COLLECTOR}
    theirs = [d for d in list(watching.deletes(platform))[before:] if d.user in servers]
    assert [d for d in theirs if d.resource in PLATFORM and d.code == 422] == []
    assert _is_reconciled(platform, cluster["metadata"]["name"])


def test_configuration_deleted_by_breaking_the_glass(platform: Plane, tmp_path: Path) -> None:
    """Nothing is lost when the Configuration goes, and the README's repair makes reinstallation work."""
    cluster = _cluster(platform, "tern-kept")
    _delete_configuration(platform)
    platform.wait(lambda: _refused_to_the_collector(platform), "the collector is refused both", PATIENCE)
    assert _is_reconciled(platform, "tern-kept")
    _install_again(platform)
    platform.wait(lambda: _failed_or_adopted(platform), "the new installation ends", PATIENCE)
    shell = Shell(platform.tools, tmp_path, platform.kubeconfig)
    shell("take-owner-off", {"NAME": NAME})
    shell("take-owners-off")
    platform.wait(
        lambda: platform.packages.settled("Configuration", CONFIGURATION), "the repair worked", PATIENCE
    )
    kept = platform.api.get(CLUSTERS.api_version(), CLUSTERS.kind, "tern-kept")
    assert kept["metadata"]["uid"] == cluster["metadata"]["uid"]
    assert _is_reconciled(platform, "tern-kept")


def _delete_configuration(plane: Plane) -> None:
    plane.kubectl("annotate", "configuration", CONFIGURATION, ALLOW)
    plane.kubectl("delete", "configuration", CONFIGURATION)
    plane.wait(
        lambda: not plane.api.list(PACKAGES, "ConfigurationRevision"), "the revisions are gone", PATIENCE
    )


def _refused_to_the_collector(plane: Plane) -> bool:
    """Say whether the collector has tried to delete XRD and Composition, and was always refused."""
    tries = [d for d in watching.deletes(plane) if (d.user, d.name) == (watching.COLLECTOR, NAME)]
    assert 200 not in {d.code for d in tries}
    return {"compositeresourcedefinitions", "compositions"} <= {d.resource for d in tries if d.code == 422}


def _install_again(plane: Plane) -> None:
    image = small_platform.push_configuration(plane, "v0.3.0")
    metadata = {"name": CONFIGURATION}
    plane.api.apply(
        {"apiVersion": PACKAGES, "kind": "Configuration", "metadata": metadata, "spec": {"package": image}}
    )


def _failed_or_adopted(plane: Plane) -> bool:
    """Say whether the new revision is kept out by the old owner, or could take over.

    It can when an earlier revision outlived the latest by a moment: the collector then takes the owner off.
    """
    settled: bool = plane.packages.settled("Configuration", CONFIGURATION)
    return settled or "already controlled by" in _why_unhealthy(plane)


def _why_unhealthy(plane: Plane) -> str:
    revisions = plane.api.list(PACKAGES, "ConfigurationRevision")
    conditions = [
        entry for revision in revisions for entry in revision.get("status", {}).get("conditions", [])
    ]
    return " ".join(entry.get("message", "") for entry in conditions)

"""The packages' whole life on a real control plane: install, use, upgrade under a live cluster, uninstall."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pytest

from controlplane.errors import ControlPlaneError
from install import brought, kubelet, leftovers, versions
from install.versions import NEW, NEW_REASON, OLD, REASON
from package.images import table
from package.images.sources import ROOT
from policies.planes import exclusive
from support import documented, from_registry, packages, product, registry, world
from support.world import World

if TYPE_CHECKING:
    from controlplane.plane import Plane

NAME = "settled"
POLICIES, PACKAGES, OPERATOR = (f"{name}/README.md" for name in ("policies", "package", "operator"))
DEFINITIONS = (
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiextensions.crossplane.io/v2", "CompositeResourceDefinition"),
    ("apiextensions.crossplane.io/v1", "Composition"),
)


@pytest.mark.timeout(2400)  # it waits for its turn with the controller
def test_install_upgrade_uninstall(plane: Plane) -> None:
    """The README's commands install, upgrade and uninstall, and no live cluster notices the upgrade."""
    assert leftovers.of_product(plane) == []
    uninstall = registry.documented("Uninstall")
    with pytest.raises(ControlPlaneError, match=_documented_where_nothing_is_healthy()):
        registry.run(plane, uninstall[0])
    _policies(plane)
    from_registry.install(plane, pushed=partial(versions.note_push, plane, OLD))
    _assert_runs_from_image(plane)
    with exclusive(plane, "controller"), World(plane, NAME, absent=from_registry.ABSENT) as cluster:
        _another_controller(plane)
        cluster.up(more=brought.services(cluster))
        plane.wait(partial(_says, plane, REASON), "the old version composes", 60)
        with brought.Brought(cluster) as controller:
            controller.run(OLD)
            _hand_over(plane, controller)
            _upgrade(plane, cluster)
            controller.run(NEW)
            controller.takes_over()
            registry.run(plane, uninstall[0])
            cluster.all_gone()
        _assert_order(cluster, controller)
        _clear(plane)
    for command in uninstall[1:]:
        registry.run(plane, command)
    plane.stop(registry.FUNCTION)
    plane.wait(lambda: not leftovers.of_product(plane), "nothing of the product is left", 60)
    # What another test deletes on this plane meanwhile goes too.
    plane.wait(lambda: not leftovers.terminating(plane), "nothing is stuck in its deletion", 60)


def _another_controller(plane: Plane) -> None:
    """Install the controller by kustomize, as somebody may have done before, and run it."""
    for command in registry.documented("Install with kustomize", OPERATOR):
        registry.run(plane, command)
    registry.run_deployment(plane, *brought.ANOTHER, "--port=0", kubelet.PATIENT)
    plane.wait(lambda: "became leader" in plane.logs(brought.ANOTHER[1]), "the other controller leads", 120)


def _hand_over(plane: Plane, controller: brought.Brought) -> None:
    """Two that look after all namespaces share one Lease: the stack's waits until the other is gone."""
    controller.is_served()
    assert not controller.leads()
    (command,) = registry.documented("The LLMService controller", PACKAGES)
    registry.run(plane, command)
    plane.stop(brought.ANOTHER[1])
    controller.takes_over()


def _assert_order(cluster: World, controller: brought.Brought) -> None:
    """Assert that the service went first, then its controller with the stack, and last the cluster."""
    leaves = [*cluster.leaves, controller.release]
    assert controller.gone_at() < cluster.gone_at(controller.carrier)
    cluster.assert_order([controller.carrier], leaves, [cluster.serving_stack], [cluster.cluster])
    cluster.assert_configs_outlive(leaves)
    assert controller.left() == []


def _clear(plane: Plane) -> None:
    """Assert that the LLMServices of others would have lived on, and remove all of the controllers."""
    assert plane.api.find(*brought.CRD) is not None
    registry.run(plane, documented.command("delete-the-kind"))
    registry.run(plane, "kubectl delete -k operator/deploy --ignore-not-found")
    plane.api.delete(plane.api.get("v1", "Namespace", brought.MODELS))
    left = partial(leftovers.named, plane, "llmservice", "llm-operator")
    plane.wait(lambda: not left(), "nothing of the controllers is left", 60)


def _documented_where_nothing_is_healthy() -> str:
    """Return what the README says that the first command of Uninstall says where the kinds are missing."""
    found = re.search(r"The first command says `([^`]+)`", (ROOT / "README.md").read_text())
    assert found
    return found[1]


def _policies(plane: Plane) -> None:
    """Install the policies in each way that their README has, see that they act, and take them off."""
    install, uninstall = registry.documented("With Helm", POLICIES)
    registry.run(plane, "kubectl create namespace modelplane-system")
    registry.run(plane, install)
    plane.wait(lambda: "protect-platform" in _try_delete(plane), "the policies refuse", 60)
    registry.run(plane, uninstall)
    _gone(plane)
    flat, audit = (documented.command(name) for name in ("policies-without-kustomize", "policies-to-audit"))
    registry.run(plane, flat)
    plane.wait(lambda: "protect-platform" in _try_delete(plane), "the policies refuse", 60)
    registry.run(plane, audit)
    plane.wait(lambda: "protect-platform" not in _try_delete(plane), "the policies only warn", 60)
    registry.run(plane, documented.command("delete-policies"))
    _gone(plane)
    registry.run(plane, "kubectl delete namespace modelplane-system")
    assert leftovers.of_product(plane) == []


def _gone(plane: Plane) -> None:
    plane.wait(lambda: "protect-platform" not in _try_delete(plane), "the policies are gone", 60)


def _try_delete(plane: Plane) -> str:
    # Dry: before the policies are in force it would go for real.
    arguments = ["namespace", product.SYSTEM_NAMESPACE, "--dry-run=server"]
    return plane.kubectl("delete", *arguments, check=False)


def _upgrade(plane: Plane, cluster: World) -> None:
    """Upgrade, see the new version's function compose the live cluster, and that all objects are the same."""
    before = _uids(plane, cluster)
    assert {key.split()[0] for key in before} >= {
        "ServingStack",
        "Release",
        "Object",
        "Usage",
        "Secret",
        "Composition",
    }
    from_registry.install(plane, heading="Upgrade", pushed=partial(versions.note_push, plane, NEW))
    _assert_runs_from_image(plane)
    for kind in ("Function", "Configuration"):
        installed = plane.api.list("pkg.crossplane.io/v1", kind)
        ours = [p["spec"]["package"] for p in installed if "/team/" in p["spec"]["package"]]
        assert [name.rpartition(":")[2] for name in ours] == [NEW]
    touched = {"metadata": {"annotations": {"tests.example.org/touched": "true"}}}
    plane.api.patch(plane.api.get(*world.CLUSTER, NAME), touched)
    plane.wait(partial(_says, plane, NEW_REASON), "the new version composes", 180)
    cluster.ready()
    assert _uids(plane, cluster) == before
    assert cluster.timeline.gone() == []


def _uids(plane: Plane, cluster: World) -> dict[str, str]:
    """Return the identity of all that the cluster consists of, Helm's records and definitions too."""
    mine = {"labelSelector": f"crossplane.io/composite={NAME}"}
    records = plane.api.list(*world.SECRET, labelSelector="owner=helm")
    found = [record for record in records if NAME in record["metadata"]["name"]]
    found += plane.api.list(*world.CLUSTER)
    for kind in cluster.composed:
        found += plane.api.list(*kind, **mine)
    for kind in DEFINITIONS:
        found += [item for item in plane.api.list(*kind) if "modelplane.ai" in item["metadata"]["name"]]
    return {f"{item['kind']} {item['metadata']['name']}": item["metadata"]["uid"] for item in found}


def _says(plane: Plane, reason: str) -> bool:
    conditions = plane.api.get(*world.CLUSTER, NAME).get("status", {}).get("conditions", [])
    return any((c["type"], c["reason"]) == ("BackendReady", reason) for c in conditions)


def _assert_runs_from_image(plane: Plane) -> None:
    """Assert that the function runs in its image's file tree alone, as its user, from its entrypoint."""
    pid = plane.status()[registry.FUNCTION]["pid"]
    read = partial(_inside, plane)
    root = read("readlink", f"/proc/{pid}/root")
    assert root.startswith(str(plane.state.folder / "images"))
    row = table.image(packages.FUNCTION)
    words = read("cat", f"/proc/{pid}/cmdline").split("\0")
    assert words[: len(row.entrypoint)] == list(row.entrypoint)
    assert read("cat", f"/proc/{pid}/uid_map").split()[0] == str(table.USER)
    environment = dict(v.split("=", 1) for v in read("cat", f"/proc/{pid}/environ").split("\0") if v)
    assert environment == {**table.ENVIRONMENT, "TLS_SERVER_CERTS_DIR": "/tls/server"}


def _inside(plane: Plane, *argv: str) -> str:
    done = plane.run(list(argv))
    assert done.code == 0, done.stderr
    return done.stdout.strip()

"""What each row of the order's table is for: the same composition without it loses something.

Every test here runs a variant of the function that lacks one row (see `support.variants`), on the same
servers on which `test_order` shows that the whole table keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from e2e.stuck import assert_stuck
from function.order import TABLE
from support import variants
from support.world import CLUSTER, EKS, OBJECT, SECRET, STACK, USAGE

if TYPE_CHECKING:
    from controlplane.timeline import Ref
    from e2e.conftest import MakeWorld
    from support.world import World


def test_every_row_has_a_variant() -> None:
    """A row that is added to the table needs a test of what it is for."""
    assert set(variants.ROWS) == {row.name for row in TABLE}


def test_the_fault_the_naive_composition_loses_the_cluster(world: MakeWorld) -> None:
    """With a Usage by the ServingStack alone the cluster is gone within seconds and a leaf hangs for ever."""
    it = world()
    it.up("EKS", "variant-naive")
    release = it.hold("settings")
    it.delete("Background")
    it.gone(it.eks)
    it.gone(it.kubeconfig)
    assert it.exists(it.leaf("settings"), OBJECT[0])
    release()
    assert_stuck(it, it.leaf("settings"), "not found")


def test_without_cluster_until_leaf(world: MakeWorld) -> None:
    """The ServingStack leaves the API at once and its Usage lets go: the cluster goes before a leaf."""
    it = world()
    it.up("EKS", "variant-cluster-until-leaf")
    release = it.hold("settings")
    it.delete("Background")
    it.gone(it.eks)
    assert it.exists(it.leaf("settings"), OBJECT[0])
    release()


def test_without_provider_config_until_leaf(world: MakeWorld) -> None:
    """A foreground cascade takes the provider's own record first, then the ProviderConfig: a leaf hangs."""
    it = world()
    it.up("Local", "variant-provider-config-until-leaf")
    release = it.hold("settings")
    it.delete("Foreground")
    it.timeline.wait(
        lambda events: any(
            e.type == "DELETED" and e.ref == it.provider_config and e.object["apiVersion"] == OBJECT[0]
            for e in events
        ),
        "the ProviderConfig is gone",
        300,
    )
    assert it.exists(it.leaf("settings"), OBJECT[0])
    release()
    assert_stuck(it, it.leaf("settings"), "not found")


def test_without_secret_until_leaf(world: MakeWorld) -> None:
    """`kubectl delete -f` takes the kubeconfig with the cluster; a leaf cannot log in any more."""
    it = world()
    it.supply_kubeconfig()
    it.up("Existing", "variant-secret-until-leaf", existing={"secretRef": {"name": it.kubeconfig.name}})
    release = it.hold("settings")
    it.delete("Background")
    it.delete("Background", it.kubeconfig, SECRET[0])
    it.gone(it.kubeconfig)
    assert it.exists(it.leaf("settings"), OBJECT[0])
    release()
    assert_stuck(it, it.leaf("settings"), "not found")


@pytest.mark.parametrize("composition", ["", "variant-component-until-component"])
def test_component_until_component(world: MakeWorld, composition: str) -> None:
    """A gateway that takes long keeps its controller; without the row the controller is gone first."""
    it = world()
    it.up("Local", composition)
    release = it.hold("gateway")
    it.delete("Background")
    it.gone(it.leaf("certificates"))
    if composition:
        it.gone(it.leaf("controller"))
        assert it.exists(it.leaf("gateway"), OBJECT[0])
        release()
    else:
        release()
        it.all_gone()
        it.assert_order([it.leaf("gateway")], [it.leaf("controller")])


@pytest.mark.parametrize("composition", ["", "variant-cluster-until-stack"])
def test_cluster_until_stack(world: MakeWorld, composition: str) -> None:
    """Someone tried to delete the cluster XR and was refused; later the stack alone is deleted.

    The leaves go and their Usages replay what was refused. Without the row that deletes a cluster which its
    InferenceCluster still wants.
    """
    it = world()
    it.up("EKS", composition)
    with pytest.raises(Exception, match=r"in-use by .* usage"):
        it.delete("Foreground", it.eks, EKS[0])
    it.delete("Foreground", it.serving_stack, STACK[0])
    it.gone(it.serving_stack)
    if composition:
        it.gone(it.eks)
        return
    it.ready()
    assert it.timeline.gone_order("EKSCluster") == []
    it.delete("Background")
    it.all_gone()


def test_without_inference_cluster_until_user(world: MakeWorld) -> None:
    """The replicas are gone, their Objects are not: without the guard they lose the cluster and hang."""
    it = world()
    it.up("EKS", "variant-inference-cluster-until-user")
    workload, release = it.replica()
    it.delete_replica()
    it.delete("Background")
    it.gone(it.eks)
    it.gone(it.kubeconfig)
    assert it.exists(workload, OBJECT[0])
    release()
    assert_stuck(it, workload, "not found")


def test_the_forbidden_row_deadlocks(world: MakeWorld) -> None:
    """A Usage of the cluster XR by an Object that the cluster XR composes never lets go."""
    it = world()
    it.up("EKS", "variant-deadlock")
    it.delete("Background")
    for leaf in it.leaves:
        it.gone(leaf)
    it.gone(it.cluster)
    it.plane.wait(
        lambda: len(_usages_of(it, it.eks)) == 1, "only the forbidden Usage is left", 120, pause=0.5
    )
    it.plane.wait(lambda: it.deletes(it.eks)[-1][1] == 409, "the collector is refused again", 60, pause=1)
    assert it.exists(it.eks, EKS[0])
    assert not it.exists(it.cluster, CLUSTER[0])


def _usages_of(it: World, ref: Ref) -> list[str]:
    found = it.plane.api.list(*USAGE, ref.namespace)
    return [
        u["metadata"]["name"] for u in found if u["spec"]["of"].get("resourceRef", {}).get("name") == ref.name
    ]

"""Whatever way an InferenceCluster is deleted, it comes down in order. No admission policy is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from support.world import EKS, KUBERNETES_CONFIG, OBJECT, SECRET, STACK

if TYPE_CHECKING:
    from e2e.conftest import MakeWorld
    from support.world import World

Ordered = Literal["Foreground", "Background"]


def assert_in_order(world: World) -> None:
    """Assert leaves first, then what they need, and that the cluster outlived every one of them."""
    world.assert_configs_outlive(world.leaves)
    world.assert_order([world.leaf("gateway")], [world.leaf("controller")])
    if world.events(world.eks):
        world.assert_order(world.leaves, [world.eks, world.kubeconfig])


@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
@pytest.mark.parametrize("source", ["Local", "EKS"])
def test_delete(world: MakeWorld, source: str, propagation: Ordered) -> None:
    """Leaves, then ProviderConfigs, kubeconfig and cluster; nothing is left and nothing hangs."""
    it = world()
    it.up(source)
    it.delete(propagation)
    it.all_gone()
    assert_in_order(it)


def test_background_delete_of_the_cluster_is_refused_to_the_collector_until_the_leaves_are_gone(
    world: MakeWorld,
) -> None:
    """The audit log has the Usage webhook's refusals, all of them before the last leaf went."""
    it = world()
    it.up("EKS")
    it.delete("Background")
    it.all_gone()
    answers = [code for _, code in it.deletes(it.eks)]
    assert 409 in answers
    # The collector's last one may come after a replay has passed, with an old version.
    assert 200 in answers
    users = {user for user, _ in it.deletes(it.eks)}
    assert "system:serviceaccount:kube-system:generic-garbage-collector" in users
    assert_in_order(it)


def test_orphan_keeps_everything_that_was_composed(world: MakeWorld) -> None:
    """The user asked to keep what is composed: nothing of it goes, and it goes on working."""
    it = world()
    it.up("EKS")
    it.delete("Orphan")
    it.gone(it.cluster)
    assert it.exists(it.eks, EKS[0])
    assert it.exists(it.serving_stack, STACK[0])
    assert it.timeline.gone_order("EKSCluster", "ServingStack", "Object", "Release", "Secret") == []


def test_direct_delete_of_the_stack_keeps_cluster_and_credentials(world: MakeWorld) -> None:
    """The leaves go and what they need stays; the InferenceCluster then composes the stack again."""
    it = world()
    it.up("EKS")
    it.delete("Foreground", it.serving_stack, STACK[0])
    it.gone(it.serving_stack)
    it.assert_configs_outlive(it.leaves)
    assert it.exists(it.eks, EKS[0])
    assert it.exists(it.kubeconfig, SECRET[0])
    it.ready()
    it.delete("Background")
    it.all_gone()


def test_direct_delete_of_the_cluster_xr_is_refused_while_it_is_used(world: MakeWorld) -> None:
    """The Usage webhook refuses it; the later delete of the InferenceCluster ends as ever."""
    it = world()
    it.up("EKS")
    with pytest.raises(Exception, match=r"in-use by .* usage"):
        it.delete("Foreground", it.eks, EKS[0])
    assert it.exists(it.eks, EKS[0])
    it.delete("Foreground")
    it.all_gone()
    assert_in_order(it)


@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
def test_delete_while_the_stack_is_still_installing(world: MakeWorld, propagation: Ordered) -> None:
    """Whatever leaves exist by then go before what they need."""
    it = world()
    it.create("EKS")
    it.timeline.wait(
        lambda events: any(e.ref == it.leaf("settings") for e in events), "the first leaves exist", 300
    )
    it.delete(propagation)
    it.all_gone()
    made = [leaf for leaf in it.leaves if it.events(leaf)]
    it.assert_configs_outlive(made)
    it.assert_order(made, [it.eks, it.kubeconfig])


@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
def test_slow_leaf_keeps_what_it_needs_for_as_long_as_it_takes(
    world: MakeWorld, propagation: Ordered
) -> None:
    """What refuses to go keeps cluster, kubeconfig and ProviderConfigs; then all goes by itself."""
    it = world()
    it.up("EKS")
    release = it.hold("settings")
    it.delete(propagation)
    others = [leaf for leaf in it.leaves if leaf != it.leaf("settings")]
    for leaf in others:
        it.gone(leaf)
    # One poll of Crossplane's Usage controller later, and the collector has tried again by then.
    it.plane.wait(lambda: len(it.deletes(it.eks)) > 0 or propagation == "Foreground", "a delete was tried")
    needed = ((it.eks, EKS), (it.kubeconfig, SECRET), (it.provider_config, KUBERNETES_CONFIG))
    for ref, kind in needed:
        assert it.exists(ref, kind[0]), f"{ref} did not wait"
    release()
    it.all_gone()
    assert_in_order(it)


def test_removed_component_goes_while_the_others_run(world: MakeWorld) -> None:
    """It keeps its Usages until it is really gone, and they never let go before."""
    it = world()
    it.up("EKS")
    release = it.hold("settings")
    ref = {"name": it.serving_stack.name, "namespace": it.serving_stack.namespace}
    stack = {"apiVersion": STACK[0], "kind": STACK[1], "metadata": ref}
    it.plane.api.patch(stack, {"spec": {"crossplane": {"compositionRef": {"name": "without-settings"}}}})
    it.timeline.wait(
        lambda events: any(e.ref == it.leaf("settings") and e.deleting for e in events), "it is deleted", 300
    )
    held = [
        u
        for u in it.plane.api.list("protection.crossplane.io/v1beta1", "Usage", it.eks.namespace)
        if u["spec"].get("by", {}).get("resourceRef", {}).get("name") == it.leaf("settings").name
    ]
    assert {u["spec"]["of"]["kind"] for u in held} == {"ProviderConfig", "EKSCluster"}
    assert not any("deletionTimestamp" in u["metadata"] for u in held)
    release()
    it.gone(it.leaf("settings"))
    it.plane.wait(lambda: not any(_still_there(it, u) for u in held), "its Usages are gone", 120, pause=0.5)
    assert it.exists(it.eks, EKS[0])
    assert it.exists(it.leaf("gateway"), OBJECT[0])
    it.delete("Background")
    it.all_gone()


def _still_there(it: World, usage: dict[str, dict[str, str]]) -> bool:
    meta = usage["metadata"]
    return (
        it.plane.api.find("protection.crossplane.io/v1beta1", "Usage", meta["name"], meta["namespace"])
        is not None
    )


def test_existing_cluster_keeps_the_users_secret_for_the_leaves(world: MakeWorld) -> None:
    """`kubectl delete -f` takes the Secret together with the cluster; the leaves still log in with it."""
    it = world()
    it.supply_kubeconfig()
    it.up("Existing", existing={"secretRef": {"name": it.kubeconfig.name}})
    release = it.hold("settings")
    it.delete("Background")
    with pytest.raises(Exception, match=r"in-use by .* usage"):
        it.delete("Background", it.kubeconfig, "v1")
    release()
    it.all_gone()
    it.gone(it.kubeconfig)
    it.assert_order(it.leaves, [it.kubeconfig])

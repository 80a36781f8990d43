"""What each row about services is for: the same composition without it loses something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from e2e.serving import SERVICE
from e2e.stuck import assert_stuck
from support.world import EKS, OBJECT, SECRET

if TYPE_CHECKING:
    from e2e.conftest import MakeServing


def test_without_stack_until_service(serving: MakeServing) -> None:
    """The ServingStack, which brings the controller, goes under the service; the cluster still waits."""
    it = serving()
    it.up("a", composition="variant-stack-until-service")
    release = it.hold("a")
    it.world.delete("Background")
    it.world.gone(it.world.serving_stack)
    for leaf in it.world.leaves:
        it.world.gone(leaf)
    assert it.world.exists(it.ref("a"), SERVICE[0])
    assert it.world.exists(it.world.eks, EKS[0])
    release()
    it.world.all_gone()


def test_without_cluster_until_service(serving: MakeServing) -> None:
    """With neither the stack nor the cluster held by it, the service's Object loses its cluster."""
    it = serving()
    it.up("a", composition="variant-cluster-until-service")
    release = it.hold("a")
    it.world.delete("Background")
    it.world.gone(it.world.eks)
    (carrier,) = it.carriers()
    assert it.world.exists(carrier, OBJECT[0])
    release()
    assert_stuck(it.world, carrier, "not found")


def test_without_provider_config_until_service(serving: MakeServing) -> None:
    """A foreground cascade takes the record first, then the ProviderConfig: the Object hangs."""
    it = serving()
    it.up("a", source="Local", composition="variant-provider-config-until-service")
    release = it.hold("a")
    it.world.delete("Foreground")
    it.world.timeline.wait_gone(it.provider_config, 300)
    (carrier,) = it.carriers()
    assert it.world.exists(carrier, OBJECT[0])
    release()
    assert_stuck(it.world, carrier, "not found")


def test_without_secret_until_service(serving: MakeServing) -> None:
    """`kubectl delete -f` takes the kubeconfig with the cluster; the Object cannot log in any more."""
    it = serving()
    it.world.supply_kubeconfig()
    secret = {"secretRef": {"name": it.world.kubeconfig.name}}
    it.up("a", source="Existing", composition="variant-secret-until-service", existing=secret)
    release, release_leaf = it.hold("a"), it.world.hold("settings")
    it.world.delete("Background")
    with pytest.raises(Exception, match=r"in-use by .* usage"):
        it.world.delete("Background", it.world.kubeconfig, SECRET[0])
    release_leaf()
    it.world.gone(
        it.world.kubeconfig
    )  # once the leaves of the stack are gone: the refused delete is replayed
    (carrier,) = it.carriers()
    assert it.world.exists(carrier, OBJECT[0])
    release()
    assert_stuck(it.world, carrier, "not found")

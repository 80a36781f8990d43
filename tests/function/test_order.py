"""The order of a teardown, simulated from the Usages that the function renders."""

from __future__ import annotations

from function.order import TABLE, Role, needed_first
from support.calls import call, cluster, stack
from support.settling import HELD, settle, teardown

KUBECONFIG = {"type": "Kubeconfig", "name": "kc", "key": "kubeconfig"}


def test_components_go_before_what_they_need_and_provider_configs_go_last() -> None:
    """Gateway, GatewayClass, EnvoyProxy, controller: each after the one before; ProviderConfigs last."""
    rounds = teardown(settle(stack(annotations=HELD)))
    at = {key: index for index, keys in enumerate(rounds) for key in keys}
    assert at["gateway"] < at["gateway-class"] < at["gateway-proxy"] < at["envoy-gateway"]
    assert at["ai-gateway"] < at["ai-gateway-crds"]
    assert rounds[-1] == {"provider-config-helm", "provider-config-kubernetes"}


def test_every_leaf_holds_provider_config_and_cluster_directly() -> None:
    """The graph is flat: a chain would pay Crossplane's poll once a link."""
    things = settle(stack(annotations=HELD))
    leaves = {k for k, m in things.items() if m["kind"] in ("Release", "Object")}
    assert len(leaves) == 13
    assert {f"usage-pc-{leaf}" for leaf in leaves} <= set(things)
    assert {f"usage-cluster-by-{leaf}" for leaf in leaves} <= set(things)
    assert not any("secret" in key for key in things)


def test_secrets_that_no_cluster_keeps_are_held_by_every_leaf() -> None:
    """A user's kubeconfig Secret may be deleted together with the cluster; the leaves still need it."""
    spec = {
        "identity": None,
        "secrets": [KUBECONFIG, {"type": "AWSWebIdentityCredentials", "name": "id", "key": "k"}],
    }
    response = call(stack(spec), settle(stack(spec)))
    held = {of for of, by, _ in response.usages().values() if by.startswith("Release/")}
    assert {"Secret/kc", "Secret/id"} <= held


def test_usages_name_their_ends_and_never_hold_back_readiness() -> None:
    """One Usage a pair, by name, ready at once, replaying the refused delete."""
    response = call(stack(annotations=HELD), settle(stack(annotations=HELD)))
    usages = response.usages()
    assert set(usages) <= response.ready
    assert all(replay and "*" not in of + by for of, by, replay in usages.values())
    pairs = [(of, by) for of, by, _ in usages.values()]
    assert len(pairs) == len(set(pairs))


def test_local_cluster_composes_no_usage_of_a_cluster() -> None:
    """Where nothing is provisioned there is no cluster XR to hold."""
    assert not any("cluster-by" in key for key in settle(stack()))
    assert set(call(cluster("Local")).desired) == {"cluster-provider-config-kubernetes", "serving-stack"}


def test_the_table_works_where_the_stack_gives_no_versions() -> None:
    """The API server fills in no default inside a block that is not given, as here."""
    bare = stack()
    bare["spec"] = {"identity": "InjectedIdentity"}
    things = settle(bare)
    assert things["cert-manager"]["spec"]["forProvider"]["chart"]["version"] == "v1.17.1"
    assert things["gateway-class"]["spec"]["forProvider"]["manifest"]["metadata"]["name"] == "envoy"
    assert "nvidiaDriverRoot" not in things["dra-driver"]["spec"]["forProvider"]["values"]
    assert (
        things["cert-manager"]["metadata"]["annotations"]["crossplane.io/external-name"] == "mp-cert-manager"
    )


def test_a_driver_root_of_its_own_is_passed_on() -> None:
    """GKE keeps the NVIDIA driver elsewhere."""
    values = settle(stack({"nvidiaDriverRoot": "/home"}))["dra-driver"]["spec"]["forProvider"]["values"]
    assert values["nvidiaDriverRoot"] == "/home"


def test_gates_are_the_table_read_upwards() -> None:
    """What holds a leaf back on the way up is what the leaf holds on the way down."""
    assert set(needed_first(Role.LEAF)) == {Role.CLUSTER, Role.PROVIDER_CONFIG, Role.SECRET}
    assert {row.name for row in TABLE if row.until_gone is Role.USER} == {"inference-cluster-until-user"}

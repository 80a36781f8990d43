"""Gates open in order and never close on what exists."""

from __future__ import annotations

import pytest

from support.calls import (
    EKS_CLUSTER,
    OBJECT,
    RELEASE,
    STACK,
    Manifest,
    Response,
    call,
    cluster,
    observe,
    stack,
    thing,
)

CLASS = {
    "apiVersion": "modelplane.ai/v1alpha1",
    "kind": "InferenceClass",
    "metadata": {"name": "l4"},
    "spec": {
        "devices": [{"name": "gpu", "driver": "gpu.nvidia.com", "count": 1}],
        "provisioning": {
            "provider": "EKS",
            "eks": {"instanceType": "g6.xlarge", "accelerator": {"type": "l4"}},
        },
    },
}
EKS = cluster(
    "EKS",
    block={"eks": {"region": "us-west-2"}},
    nodePools=[{"name": "gpu", "className": "l4", "zones": ["us-west-2a"]}],
)
SECRETS = {"secrets": [{"type": "Kubeconfig", "name": "kc", "key": "kubeconfig"}]}
FETCHED = {"class-l4": [CLASS]}


def eks_cluster(*, ready: bool) -> dict[str, object]:
    """Return the cluster XR as observed, with its secrets published."""
    return thing(EKS_CLUSTER, "demo", ready=ready, spec={"region": "us-west-2"}, status=dict(SECRETS))


def test_handed_03_usages_survive_a_closed_gate() -> None:
    """A cluster that loses its readiness keeps its stack and its Usage; only first creation is gated."""
    first = call(EKS, required=FETCHED)
    assert set(first.desired) == {"eks-cluster"}
    assert first.usages() == {}

    ready = {"eks-cluster": eks_cluster(ready=True)}
    assert {"eks-cluster", "serving-stack"} <= set(call(EKS, ready, FETCHED).desired)

    both = {**ready, "serving-stack": thing(STACK, "demo-stack", ready=True)}
    held = {"usage-eks-by-backend": ("EKSCluster/*", "ServingStack/*", True)}
    assert call(EKS, both, FETCHED).usages() == held

    lost = {**both, "eks-cluster": eks_cluster(ready=False)}
    after = call(EKS, lost, FETCHED)
    assert {"eks-cluster", "serving-stack"} <= set(after.desired)
    assert after.usages() == held
    assert "eks-cluster" not in after.ready


def test_existing_provider_config_is_kept_while_the_cluster_is_not_ready() -> None:
    """The ClusterProviderConfig that exists is planned again as it is observed."""
    observed = {
        "eks-cluster": eks_cluster(ready=False),
        "cluster-provider-config-kubernetes": thing(
            (OBJECT[0], "ClusterProviderConfig"), "pc", spec={"credentials": {"source": "Secret"}}
        ),
    }
    kept = call(EKS, observed, FETCHED).desired["cluster-provider-config-kubernetes"]
    assert kept["spec"] == {"credentials": {"source": "Secret"}}
    assert kept["metadata"]["name"] == "pc"


@pytest.mark.parametrize(
    ("required", "reason"),
    [
        pytest.param({}, "WaitingForClasses", id="class not fetched yet"),
        pytest.param({"class-l4": []}, "WaitingForClasses", id="class does not exist"),
        pytest.param(
            {"class-l4": [{**CLASS, "spec": {"devices": []}}]},
            "InvalidNodePool",
            id="class without EKS block",
        ),
    ],
)
def test_a_class_that_does_not_serve_never_drops_the_cluster(
    required: dict[str, list[dict[str, object]]], reason: str
) -> None:
    """The cluster XR stays as observed, with its whole spec, and the condition says why."""
    observed = {
        "eks-cluster": eks_cluster(ready=True),
        "serving-stack": thing(STACK, "demo-stack", ready=True),
    }
    published = {"gpuPools": [{"name": "gpu", "nodes": 1, "devices": [{"name": "gpu", "driver": "d"}]}]}
    response = call({**EKS, "status": published}, observed, required)
    assert response.fatal == []
    assert response.desired["eks-cluster"]["spec"] == {"region": "us-west-2"}
    assert {"serving-stack", "usage-eks-by-backend"} <= set(response.desired)
    assert response.conditions["ClusterReady"][:2] == (False, reason)
    assert response.status["gpuPools"] == (published["gpuPools"] if reason == "WaitingForClasses" else [])
    assert response.conditions["BackendReady"] == (True, "BackendHealthy", "")


def test_an_xr_that_is_kept_is_sent_without_what_crossplane_keeps_in_it() -> None:
    """A stale list of resourceRefs, written back, would make the XR lose what it composed meanwhile."""
    spec = {**SECRETS, "crossplane": {"resourceRefs": [{"name": "old"}]}}
    observed = {"eks-cluster": eks_cluster(ready=False), "serving-stack": thing(STACK, "s", spec=spec)}
    assert call(EKS, observed, FETCHED).desired["serving-stack"]["spec"] == SECRETS


@pytest.mark.parametrize("count", [0, 9])
def test_more_or_fewer_pools_than_the_cluster_takes_never_reach_it(count: int) -> None:
    """An EKSCluster takes 1 to 8 pools; the cluster XR stays as observed, and the condition says why."""
    pools = [{"name": f"p{n}", "className": "l4"} for n in range(count)]
    composite = cluster("EKS", block={"eks": {"region": "r"}}, nodePools=pools)
    made = call(composite, {"eks-cluster": eks_cluster(ready=True)}, FETCHED)
    assert made.desired["eks-cluster"]["spec"] == {"region": "us-west-2"}
    message = f"EKSCluster takes 1 to 8 node pools, not {count}"
    assert made.conditions["ClusterReady"] == (False, "InvalidNodePool", message)


def test_eks_cluster_is_composed_field_by_field() -> None:
    """Pool, class and cluster block arrive in the cluster XR; what the pool does not set is left out."""
    pools = [
        {
            "name": "a",
            "className": "l4",
            "nodeCount": 2,
            "maxNodeCount": 4,
            "minNodeCount": 1,
            "zones": ["z"],
        },
        {
            "name": "b",
            "className": "l4",
            "zones": ["z"],
            "capacityBlock": {"capacityReservationId": "cr-1"},
            "fabric": {"type": "EFA"},
        },
    ]
    composite = cluster(
        "EKS", block={"eks": {"region": "r", "kubernetesVersion": "1.36", "credentials": {}}}, nodePools=pools
    )
    made = call(composite, required=FETCHED)
    common = {"role": "GPU", "instanceType": "g6.xlarge", "diskSizeGb": 100, "gpu": {"acceleratorType": "l4"}}
    assert made.desired["eks-cluster"]["spec"] == {
        "region": "r",
        "kubernetesVersion": "1.36",
        "credentials": {"type": "ClusterProviderConfig", "name": "default"},
        "nodePools": [
            {**common, "name": "a", "nodeCount": 2, "minNodeCount": 1, "maxNodeCount": 4, "zones": ["z"]},
            {
                **common,
                "name": "b",
                "nodeCount": 1,
                "zones": ["z"],
                "capacityBlock": {"capacityReservationId": "cr-1"},
                "fabric": "EFA",
            },
        ],
    }
    assert made.status["gpuPools"] == [
        {"name": "a", "nodes": 4, "devices": CLASS["spec"]["devices"]},  # type: ignore[index]  # a literal above
        {"name": "b", "nodes": 1, "devices": CLASS["spec"]["devices"]},  # type: ignore[index]  # the same
    ]


def usages(response: Response) -> dict[str, Manifest]:
    """Return the desired Usages as they are observed once they are in force."""
    return {key: found for key, found in observe(response).items() if found["kind"] == "Usage"}


def test_an_object_comes_after_its_usages_are_in_force() -> None:
    """Created together, a delete that comes just then takes what the object needs: it hangs for ever."""
    configs = {f"provider-config-{kind}": thing(OBJECT, kind) for kind in ("helm", "kubernetes")}
    first = call(stack(), configs)
    assert "cert-manager" not in first.desired
    assert "usage-pc-cert-manager" in first.desired
    young = {key: {**found, "metadata": {"name": key}} for key, found in usages(first).items()}
    assert "cert-manager" not in call(stack(), {**configs, **young}).desired
    assert "cert-manager" in call(stack(), {**configs, **usages(first)}).desired


def test_a_usage_is_in_force_once_what_it_protects_is_labelled() -> None:
    """Crossplane's webhook sees only what has the label, which comes in a write after the finalizer."""
    configs = {f"provider-config-{kind}": thing(OBJECT, kind) for kind in ("helm", "kubernetes")}
    made = observe(call(stack(), configs))
    assert "cert-manager" in call(stack(), made).desired
    label = made["provider-config-helm"]["metadata"]["labels"].pop("crossplane.io/in-use")
    assert label == "true"
    assert "cert-manager" not in call(stack(), made).desired


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(set(), set(), id="ProviderConfigs not observed"),
        pytest.param({"provider-config-helm"}, set(), id="one of two observed"),
        pytest.param({"provider-config-helm", "provider-config-kubernetes"}, {"one"}, id="first component"),
        pytest.param(
            {"provider-config-helm", "provider-config-kubernetes", "one"},
            {"one", "two"},
            id="once it is ready",
        ),
        pytest.param({"two"}, {"two"}, id="what exists stays"),
    ],
)
def test_components_come_up_in_order(observed: set[str], expected: set[str]) -> None:
    """A component is created once what must outlive it is ready, and stays whatever becomes of that."""
    table = [
        {
            "name": "one",
            "kind": "Release",
            "namespace": "a",
            "chart": {"repository": "oci://r", "name": "c", "version": "1"},
            "outlives": ["two"],
        },
        {"name": "two", "kind": "Object", "manifest": {"kind": "ConfigMap"}},
    ]
    used = {"labels": {"crossplane.io/in-use": "true"}}
    seen = {
        key: thing(RELEASE if key == "one" else OBJECT, key, ready=True, metadata=used) for key in observed
    }
    settings = {"kind": "Settings", "components": table}
    first = call(stack(), seen, settings=settings)
    made = call(stack(), {**seen, **usages(first)}, settings=settings)
    assert set(first.desired) & {"one", "two"} == observed & {"one", "two"}
    assert {key for key in made.desired if key in ("one", "two")} == expected
    assert made.incomplete is (expected != {"one", "two"})


def test_a_cluster_without_its_stack_is_not_ready() -> None:
    """Crossplane calls a composite ready when all that is composed is; a closed gate composes nothing."""
    assert call(EKS).incomplete
    assert call(EKS, {"eks-cluster": eks_cluster(ready=False)}, FETCHED).incomplete
    assert not call(EKS, {"eks-cluster": eks_cluster(ready=True)}, FETCHED).incomplete

"""Leaves of a ServingStack that another function composes: held when they lead to the stack, else never."""

from __future__ import annotations

import pytest

from support.calls import EKS_CLUSTER, OBJECT, RELEASE, STACK, Manifest, Response, call, cluster, thing

EKS = cluster("EKS", block={"eks": {"region": "r"}})
OBSERVED = {"eks-cluster": thing(EKS_CLUSTER, "demo", ready=True), "serving-stack": thing(STACK, "stack")}


def owned(kind: tuple[str, str], name: str, owner: tuple[tuple[str, str], str] | None) -> Manifest:
    """Return an object whose controller is `owner`."""
    refs = (
        [
            {
                "apiVersion": owner[0][0],
                "kind": owner[0][1],
                "name": owner[1],
                "uid": f"{owner[1]}-uid",
                "controller": True,
            }
        ]
        if owner
        else []
    )
    return thing(kind, name, metadata={"ownerReferences": refs})


def run(leaf: Manifest, more: dict[str, list[Manifest]] | None = None) -> Response:
    """Run the function with one Object found by the root's label."""
    return call(EKS, OBSERVED, {"stack-objects": [leaf], "stack-releases": [], **(more or {})})


def test_a_leaf_of_the_stack_holds_the_cluster() -> None:
    """Its controller is the ServingStack."""
    made = run(owned(OBJECT, "leaf", (STACK, "stack")))
    assert made.usages()["usage-cluster-by-object-leaf"] == ("EKSCluster/demo", "Object/leaf", True)


@pytest.mark.parametrize(
    "leaf",
    [
        pytest.param(
            owned(OBJECT, "leaf", (EKS_CLUSTER, "demo")), id="composed by the cluster XR: a deadlock"
        ),
        pytest.param(owned(OBJECT, "leaf", None), id="no controller"),
        pytest.param(owned(OBJECT, "leaf", (OBJECT, "stranger")), id="controlled by a stranger"),
    ],
)
def test_what_does_not_lead_to_the_stack_holds_nothing(leaf: Manifest) -> None:
    """The root's label is only a name."""
    assert set(run(leaf).usages()) == {"usage-eks-by-backend"}


def test_a_leaf_is_traced_through_the_xrs_between() -> None:
    """The XR in between is asked for by the name that its controller reference gives."""
    middle = ("x.example/v1", "Middle")
    leaf = owned(OBJECT, "leaf", (middle, "mid"))
    asked = run(leaf)
    assert asked.lookups["owner-mid-uid"].match_name == "mid"
    assert "usage-cluster-by-object-leaf" not in asked.usages()
    to_stack = run(leaf, {"owner-mid-uid": [owned(middle, "mid", (STACK, "stack"))]})
    assert "usage-cluster-by-object-leaf" in to_stack.usages()
    to_cluster = run(leaf, {"owner-mid-uid": [owned(middle, "mid", (EKS_CLUSTER, "demo"))]})
    assert "usage-cluster-by-object-leaf" not in to_cluster.usages()
    another = {**owned(middle, "mid", (STACK, "stack"))}
    another["metadata"] = {**another["metadata"], "uid": "a successor of that name"}
    assert "usage-cluster-by-object-leaf" not in run(leaf, {"owner-mid-uid": [another]}).usages()


NEBIUS_KEY = {
    "type": "NebiusServiceAccountCredentials",
    "name": "key",
    "key": "credentials.json",
    "namespace": "nebius",
}
KUBECONFIG = {"type": "Kubeconfig", "name": "kc", "key": "kubeconfig"}


def test_a_leaf_holds_the_key_that_the_cluster_xr_does_not_own() -> None:
    """A Usage's protected end may be elsewhere. The kubeconfig is held with the cluster XR that owns it."""
    status = {"secrets": [KUBECONFIG, NEBIUS_KEY], "conditions": [{"type": "Ready", "status": "True"}]}
    kind = (EKS_CLUSTER[0], "NebiusCluster")
    observed = {
        "nebius-cluster": thing(kind, "demo", status=status),
        "serving-stack": thing(STACK, "stack"),
    }
    leaf = owned(OBJECT, "leaf", (STACK, "stack"))
    made = call(cluster("Nebius", block={"nebius": {}}), observed, {"stack-objects": [leaf]})
    assert set(made.usages()) == {
        "usage-nebius-by-backend",
        "usage-cluster-by-object-leaf",
        "usage-secret-key-by-object-leaf",
    }
    usage = made.desired["usage-secret-key-by-object-leaf"]
    assert usage["metadata"]["namespace"] == "modelplane-system"
    assert usage["spec"]["of"]["resourceRef"] == {"name": "key", "namespace": "nebius"}
    assert usage["spec"]["by"]["resourceRef"] == {"name": "leaf"}


def test_a_leaf_holds_the_secrets_that_the_user_brought() -> None:
    """An existing cluster has no XR that would keep them."""
    block = {"existing": {"secretRef": {"name": "kc"}, "identitySecretRef": {"name": "id"}}}
    leaf = owned(OBJECT, "leaf", (STACK, "stack"))
    made = call(
        cluster("Existing", block=block), {"serving-stack": thing(STACK, "stack")}, {"stack-objects": [leaf]}
    )
    assert {of for of, _, _ in made.usages().values()} == {"Secret/kc", "Secret/id"}


def test_our_own_stack_holds_its_leaves_itself() -> None:
    """Where the stack says so, nothing is asked for."""
    ordered = {"conditions": [{"type": "DeletionOrdered", "status": "True"}]}
    observed = {**OBSERVED, "serving-stack": thing(STACK, "stack", status=ordered)}
    assert "stack-objects" not in call(EKS, observed).lookups


def test_a_leaf_that_vanished_keeps_its_usage_until_it_is_gone() -> None:
    """The Usage ends by a lookup of its user, never because a list came back shorter."""
    first = run(owned(RELEASE, "leaf", (STACK, "stack")))
    key = "usage-cluster-by-object-leaf"
    observed = {
        **OBSERVED,
        key: thing(("protection.crossplane.io/v1beta1", "Usage"), "u", **_body(first, key)),
    }
    later = call(EKS, observed, {"stack-objects": [], "stack-releases": []})
    assert key in later.desired
    assert later.lookups[f"user-of-{key}"].match_name == "leaf"


def _body(response: Response, key: str) -> Manifest:
    manifest = response.desired[key]
    return {"spec": manifest["spec"], "metadata": {"labels": manifest["metadata"]["labels"]}}

"""Bad input gives one readable fatal result and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from support.calls import COMPOSED, OBJECT, RELEASE, USAGE, Manifest, call, cluster, stack, thing

OBSERVED = {"serving-stack": thing(OBJECT, "s"), "cluster-provider-config-kubernetes": thing(OBJECT, "p")}
POOL = {"name": "a", "className": "c"}


def eks(**spec: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return an InferenceCluster on EKS."""
    return cluster("EKS", block={"eks": {"region": "r"}}, **spec)


def bare(**fields: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return an InferenceCluster with fields replaced."""
    return {**cluster(), **fields}


def component(**fields: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return Settings with one component, a Release, with fields replaced."""
    chart = {"repository": "oci://r", "name": "n", "version": "1"}
    entry = {"name": "one", "kind": "Release", "namespace": "a", "chart": chart, **fields}
    return {"kind": "Settings", "components": [entry]}


@pytest.mark.parametrize(
    ("composite", "settings", "says"),
    [
        pytest.param({}, None, "the composite has no kind", id="empty composite"),
        pytest.param({"kind": "X"}, None, "the composite has no apiVersion", id="no apiVersion"),
        pytest.param(bare(kind=["X"]), None, "the composite has no kind", id="kind is a list"),
        pytest.param(bare(apiVersion=7), None, "the composite has no apiVersion", id="apiVersion is 7"),
        pytest.param(bare(kind="XBucket"), None, None, id="another kind is passed on"),
        pytest.param(
            bare(apiVersion="modelplane.ai/v9"),
            None,
            "InferenceCluster modelplane.ai/v9 is not known",
            id="another version",
        ),
        pytest.param(
            {**stack(), "apiVersion": "infrastructure.modelplane.ai/v2"},
            None,
            "this function composes infrastructure.modelplane.ai/v1alpha1",
            id="another version of a stack",
        ),
        pytest.param(bare(metadata={}), None, "metadata.name is required", id="no name"),
        pytest.param(bare(spec=None), None, "spec must be a block", id="no spec"),
        pytest.param(bare(spec=[1]), None, "spec must be a block, not [1]", id="spec is a list"),
        pytest.param(bare(spec={}), None, "spec.cluster is required", id="no cluster"),
        pytest.param(
            bare(spec={"cluster": "EKS"}), None, "spec.cluster must be a block", id="cluster is text"
        ),
        pytest.param(bare(spec={"cluster": {}}), None, "spec.cluster.source is required", id="no source"),
        pytest.param(cluster("Moon"), None, "'Moon' is unknown; use one of Local", id="unknown source"),
        pytest.param(cluster(""), None, "spec.cluster.source must not be empty", id="empty source"),
        pytest.param(cluster("EKS"), None, "spec.cluster.eks.region is required", id="EKS without block"),
        pytest.param(
            cluster("EKS", block={"eks": {"region": 7}}), None, "region must be text, not 7", id="region"
        ),
        pytest.param(
            cluster("Existing"), None, "spec.cluster.existing is required", id="Existing without block"
        ),
        pytest.param(
            cluster("Existing", block={"existing": {}}),
            None,
            "existing.secretRef is required",
            id="no secretRef",
        ),
        pytest.param(
            cluster(
                "Existing",
                block={
                    "existing": {"secretRef": {"name": "a"}, "identitySecretRef": {"name": "b", "type": "X"}}
                },
            ),
            None,
            "identitySecretRef.type must be one of",
            id="identity type",
        ),
        pytest.param(eks(nodePools={}), None, "spec.nodePools must be a list", id="pools are a block"),
        pytest.param(eks(nodePools=[1]), None, "spec.nodePools[0] must be a block", id="pool is a number"),
        pytest.param(
            eks(nodePools=[{"name": "a"}]), None, "nodePools[0].className is required", id="no class"
        ),
        pytest.param(eks(nodePools=[POOL, POOL]), None, "names 'a' twice", id="pool twice"),
        pytest.param(
            eks(nodePools=[{**POOL, "name": str(n)} for n in range(65)]), None, "has 65 pools", id="65 pools"
        ),
        pytest.param(
            eks(nodePools=[{**POOL, "nodeCount": -1}]), None, "at least 0, not -1", id="negative count"
        ),
        pytest.param(
            eks(nodePools=[{**POOL, "nodeCount": 1.5}]), None, "a whole number, not 1.5", id="half a node"
        ),
        pytest.param(
            eks(nodePools=[{**POOL, "nodeCount": True}]), None, "at least 0, not True", id="true nodes"
        ),
        pytest.param(
            eks(nodePools=[{**POOL, "zones": "z"}]), None, "zones must be a list", id="zones are text"
        ),
        pytest.param(
            eks(nodePools=[{**POOL, "zones": [1]}]), None, "zones[0] must be text", id="zone is a number"
        ),
        pytest.param(
            eks(nodePools=[{**POOL, "fabric": {"type": "X"}}]), None, "must be one of None, EFA", id="fabric"
        ),
        pytest.param(
            eks(nodePools=[{**POOL, "capacityBlock": {}}]), None, "capacityReservationId is required", id="cb"
        ),
        pytest.param(cluster(), {"kind": "Other"}, "kind Settings, not 'Other'", id="another input"),
        pytest.param(
            cluster(), {"kind": "Settings", "consumers": {}}, "consumers must be a list", id="consumers"
        ),
        pytest.param(
            cluster(),
            {"kind": "Settings", "consumers": [{}]},
            "input.consumers[0].apiVersion is required",
            id="consumer",
        ),
        pytest.param(stack({"identity": None}), None, "exactly one of them", id="stack without credentials"),
        pytest.param(
            stack({"secrets": [{"type": "Kubeconfig", "name": "a", "key": "b"}]}),
            None,
            "exactly one",
            id="both",
        ),
        pytest.param(
            stack({"identity": None, "secrets": [{"name": "a"}]}),
            None,
            "secrets[0].type is required",
            id="secret",
        ),
        pytest.param(
            stack({"identity": None, "secrets": [{"type": "X", "name": "a", "key": "b"}]}),
            None,
            "Kubeconfig",
            id="no kc",
        ),
        pytest.param(
            stack(annotations={"inference.modelplane.ai/cluster": "a b"}), None, "must read", id="annotation"
        ),
        pytest.param(
            {**stack(), "metadata": {"name": "a"}}, None, "metadata.namespace are required", id="no namespace"
        ),
        pytest.param(
            stack({"gateway": {"listeners": [7]}}), None, "listeners[0] must be a block", id="listener"
        ),
        pytest.param(stack(), component(kind="Chart"), "must be one of Release, Object", id="component kind"),
        pytest.param(stack(), component(chart={}), "chart.repository is required", id="no chart"),
        pytest.param(
            stack(),
            component(outlives=["two"]),
            "outlives 'two', which is no component",
            id="outlives nobody",
        ),
        pytest.param(stack(), component(outlives=["one"]), "outlive each other", id="outlives itself"),
        pytest.param(stack(), component(kind="Object"), "manifest is required", id="Object without manifest"),
        pytest.param(
            stack(), component(namespace="a-$(spec.nothing)"), "$(spec.nothing) is no text", id="reference"
        ),
        pytest.param(stack(), component(releaseName="r" * 54), "Helm allows 53", id="release name"),
        pytest.param(stack(), component(watch="yes"), None, id="watch on a Release is not read"),
        pytest.param(
            stack(),
            {"kind": "Settings", "components": [*component()["components"], *component()["components"]]},
            "'one' occurs twice",
            id="component twice",
        ),
    ],
)
def test_invalid(composite: Manifest, settings: Manifest | None, says: str | None) -> None:
    """One fatal result that names the field; earlier steps' desired state is passed on untouched."""
    made = call(composite, OBSERVED, settings=settings)
    if says is None:
        assert made.fatal == []
        return
    assert len(made.fatal) == 1
    assert says in made.fatal[0]
    assert made.fatal[0].endswith("Nothing was changed.")
    assert made.desired == {}
    assert "Traceback" not in made.fatal[0]


FLEET = {"apiVersion": "platform.example.org/v1", "kind": "Fleet", "metadata": {"name": "f"}}
PAIR = {"protect": "a", "untilGone": "b"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param({}, "input.edges must be a list, not {}", id="a block"),
        pytest.param("a", "input.edges must be a list, not 'a'", id="text"),
        pytest.param([1], "input.edges[0] must be a block, not 1", id="a number"),
        pytest.param([["a", "b"]], "input.edges[0] must be a block", id="a list of two"),
        pytest.param([{}], "input.edges[0].protect is required", id="empty"),
        pytest.param([{"protect": "a"}], "input.edges[0].untilGone is required", id="one end"),
        pytest.param([PAIR, {"untilGone": "a"}], "input.edges[1].protect is required", id="the second"),
        pytest.param([{**PAIR, "protect": ""}], "protect must not be empty", id="empty key"),
        pytest.param([{**PAIR, "protect": 7}], "protect must be text, not 7", id="key is a number"),
        pytest.param([{**PAIR, "untilGone": ["b"]}], "untilGone must be text", id="several users at once"),
        pytest.param([{**PAIR, "protect": None}], "protect is required", id="null"),
        pytest.param([{**PAIR, "protect": "k" * 254}], "has 254 characters; at most 253", id="long key"),
        pytest.param([{**PAIR, "untilGone": "a"}], "untilGone is 'a' itself", id="itself"),
        pytest.param([PAIR, PAIR], "edges[1].protect 'a' until 'b' is gone occurs twice", id="twice"),
        pytest.param(
            [PAIR, {"protect": "b", "untilGone": "a"}], "edges keep a, b for one another", id="circle"
        ),
        pytest.param(
            [{"protect": a, "untilGone": b} for a, b in ("ab", "bc", "ca", "xy")],
            "edges keep a, b, c for one another in a circle",
            id="longer circle",
        ),
        pytest.param(
            [{"protect": "a", "untilGone": str(n)} for n in range(257)], "has 257 entries", id="257 pairs"
        ),
    ],
)
@pytest.mark.parametrize("composite", [FLEET, cluster()], ids=lambda composite: composite["kind"])
def test_invalid_edges(composite: Manifest, given: object, says: str) -> None:
    """One fatal result that names the entry, and what earlier steps desire is passed on as it is."""
    desired = {"a": {"kind": "A"}}
    made = call(composite, OBSERVED, settings={"kind": "Settings", "edges": given}, desired=desired)
    (fatal,) = made.fatal
    assert says in fatal
    assert fatal.endswith("Nothing was changed.")
    assert made.desired == desired


ODD: dict[str, Any] = {
    "no name": {"apiVersion": "helm.m.crossplane.io/v1beta1", "kind": "Release", "metadata": {}},
    "metadata is text": {"apiVersion": "helm.m.crossplane.io/v1beta1", "kind": "Release", "metadata": "x"},
    "labels are a list": {**thing(RELEASE, "a"), "metadata": {"name": "a", "labels": ["x"]}},
    "empty": {},
    "spec is a list": {**thing(RELEASE, "a"), "spec": [1]},
    "a ref without name": thing(RELEASE, "a", spec={"providerConfigRef": {"kind": "ProviderConfig"}}),
    "a ref to a number": thing(RELEASE, "a", spec={"providerConfigRef": {"name": 7}}),
    "a ref of another kind": thing(RELEASE, "a", spec={"providerConfigRef": {"kind": "X", "name": "a"}}),
    "a Usage without ends": thing(USAGE, "u", metadata={"labels": COMPOSED}),
    "a Usage with odd ends": thing(USAGE, "u", metadata={"labels": COMPOSED}, spec={"of": 1, "by": ["x"]}),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_resources_in_a_late_step(odd: Manifest) -> None:
    """Nothing is made of what cannot be read, and it is passed on as it is."""
    pair = {"kind": "Settings", "edges": [{"protect": "odd", "untilGone": "a"}]}
    desired = {"odd": odd, "a": thing(OBJECT, "a")}
    made = call(FLEET, desired, settings=pair, desired=desired)
    assert made.fatal == []
    assert {key: made.desired[key] for key in desired} == desired

"""For any input: an answer, never an exception; nothing of ours vanishes without a fatal result."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from function.cluster.teardown.request import Stage
from support.calls import COMPOSED, EKS_CLUSTER, OBJECT, STACK, USAGE, Manifest, call, cluster, stack, thing
from support.peer_states import CLOUDS

SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 1 << 40) | st.floats(allow_nan=False) | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    "cluster",
    "source",
    "gke",
    "eks",
    "aks",
    "nebius",
    "vultr",
    "existing",
    "region",
    "secretRef",
    "identitySecretRef",
    "name",
    "key",
    "type",
    "nodePools",
    "className",
    "nodeCount",
    "zones",
    "fabric",
    "capacityBlock",
    "secrets",
    "identity",
    "gateway",
    "listeners",
    "versions",
    "nvidiaDriverRoot",
    "status",
    "conditions",
    "metadata",
    "labels",
    "annotations",
    "ownerReferences",
    "spec",
    "of",
    "by",
    "resourceRef",
    "replayDeletion",
    "gpuPools",
    "devices",
    "services",
    "namespace",
    "chart",
    "values",
    "deletion",
    "mode",
    "teardown",
    "stage",
    "startedAt",
    "releases",
    "releasedAt",
    "operatorChart",
    "repository",
    "version",
    "plainHTTP",
    "pullSecret",
]
WORDS = ["Local", "oci://r", "True", "Kubeconfig", "InjectedIdentity", "Staged", "Released"]
KNOWN = st.recursive(
    SCALARS | st.sampled_from([*CLOUDS, *WORDS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)
BLOCK = st.dictionaries(st.sampled_from(FIELDS), KNOWN | JSON, max_size=4)
KEYS = (
    "eks-cluster",
    "serving-stack",
    "cluster-provider-config-kubernetes",
    "usage-replicas",
    "usage-staged-teardown",
    "provider-config-services",
    "service-models.a",
    "x",
)
PATIENT = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# What a planned resource may be replaced by: everything that is observed under a key of ours.
OURS = {
    "eks-cluster": thing(EKS_CLUSTER, "demo", ready=True, metadata={"labels": COMPOSED}),
    "serving-stack": thing(STACK, "stack", ready=True, metadata={"labels": COMPOSED}),
}


@PATIENT
@given(spec=KNOWN | JSON, status=KNOWN, kind=st.sampled_from(["InferenceCluster", "ServingStack", "X"]))
def test_any_composite_gets_an_answer(spec: Any, status: Any, kind: str) -> None:  # noqa: ANN401 -- any JSON
    """Wrong types, missing blocks and strangers are told, not raised."""
    base = stack() if kind == "ServingStack" else cluster()
    made = call({**base, "kind": kind, "spec": spec, "status": status})
    assert len(made.fatal) <= 1


@PATIENT
@given(
    bodies=st.dictionaries(st.sampled_from(KEYS), BLOCK, max_size=4),
    found=st.dictionaries(
        st.sampled_from(["model-replicas", "class-l4", "user-0"]), st.lists(BLOCK, max_size=2)
    ),
    given_settings=st.none() | BLOCK,
)
def test_any_observed_state_gets_an_answer(
    bodies: dict[str, Manifest], found: dict[str, list[Manifest]], given_settings: Manifest | None
) -> None:
    """Observed and required resources may hold anything; so may the input of the step."""
    pools = [{"name": "gpu", "className": "l4"}]
    eks = cluster("EKS", block={"eks": {"region": "r"}}, nodePools=pools)
    inputs = None if given_settings is None else {"kind": "Settings", **given_settings}
    for composite in (eks, cluster(), stack()):
        assert len(call(composite, bodies, found, inputs).fatal) <= 1


@PATIENT
@given(spec=BLOCK, classes=st.none() | st.lists(BLOCK, max_size=1))
def test_nothing_of_ours_vanishes_without_a_fatal_result(
    spec: Manifest, classes: list[Manifest] | None
) -> None:
    """Whatever the spec becomes, cluster and ServingStack stay desired while a Usage protects them."""
    pools = [{"name": "gpu", "className": "l4"}]
    composite = cluster("EKS", block={"eks": {"region": "r"}}, nodePools=pools)
    composite["spec"] = {**composite["spec"], **spec}
    ends = {"of": {"apiVersion": EKS_CLUSTER[0], "kind": EKS_CLUSTER[1], "resourceRef": {"name": "demo"}}}
    ends["by"] = {"apiVersion": STACK[0], "kind": STACK[1], "resourceRef": {"name": "stack"}}
    usage = thing(USAGE, "u", metadata={"labels": COMPOSED}, spec=ends)
    observed = {**OURS, "usage-eks-by-backend": usage}
    made = call(composite, observed, None if classes is None else {"class-l4": classes})
    assert made.fatal or set(observed) <= set(made.desired)


@PATIENT
@given(body=BLOCK, name=st.text(max_size=300))
def test_a_guard_with_any_memory_gets_an_answer(body: Manifest, name: str) -> None:
    """The annotation that remembers users, and the records of users, may hold anything."""
    memory = {"metadata": {"annotations": {"inference.modelplane.ai/users": name}}}
    made = call(cluster(), {"usage-replicas": {**body, **memory}}, {"provider-config-usages": [body]})
    assert made.fatal == []
    assert OBJECT[1] not in made.desired


@PATIENT
@given(
    stage=st.sampled_from([s.value for s in Stage] + ["", "Nonsense"]),
    teardown=BLOCK,
    spec=BLOCK,
    bodies=st.dictionaries(st.sampled_from(KEYS), BLOCK, max_size=4),
)
def test_any_teardown_gets_an_answer_and_drops_nothing_protected(
    stage: str, teardown: Manifest, spec: Manifest, bodies: dict[str, Manifest]
) -> None:
    """Whatever status, spec and observed state hold, what a Usage protects stays desired."""
    attempt = {"usage.crossplane.io/deletion-attempt-with-policy": "Foreground"}
    composite = cluster(deletion={"mode": "Staged"}, **{k: v for k, v in spec.items() if k != "deletion"})
    composite["metadata"]["annotations"] = attempt
    composite["status"] = {"teardown": {**teardown, "stage": stage}}
    ends = {"of": {"apiVersion": STACK[0], "kind": STACK[1], "resourceRef": {"name": "stack"}}}
    ends["by"] = {"apiVersion": OBJECT[0], "kind": OBJECT[1], "resourceRef": {"name": "o"}}
    usage = thing(USAGE, "u", metadata={"labels": COMPOSED}, spec=ends)
    observed = {**bodies, **OURS, "usage-stack-by-service-models.a": usage}
    made = call(composite, observed)
    assert len(made.fatal) <= 1
    assert made.fatal or {"serving-stack", "usage-stack-by-service-models.a"} <= set(made.desired)

"""Who keeps an InferenceCluster, and for how long."""

from __future__ import annotations

from support.calls import CLUSTER_USAGE, OBJECT, Manifest, call, cluster, thing

REPLICA = ("modelplane.ai/v1alpha1", "ModelReplica")
RECORD = ("kubernetes.m.crossplane.io/v1alpha1", "ProviderConfigUsage")
USERS = "inference.modelplane.ai/users"
NOBODY: dict[str, list[Manifest]] = {"model-replicas": [], "provider-config-usages": []}


def record(name: str, namespace: str = "team") -> Manifest:
    """Return the provider's record that an Object uses the ClusterProviderConfig."""
    ref = {"apiVersion": OBJECT[0], "kind": OBJECT[1], "name": name}
    return thing(RECORD, f"{name}-pcu", metadata={"namespace": namespace}, resourceRef=ref)


def guard(*users: str) -> dict[str, Manifest]:
    """Return the guard as observed, remembering `users` of the namespace team."""
    written = " ".join(f"{OBJECT[0]},Object,team,{user}" for user in users)
    return {"usage-replicas": thing(CLUSTER_USAGE, "g", metadata={"annotations": {USERS: written}})}


def test_replicas_hold_the_cluster_as_modelplane_does() -> None:
    """Key, target, reason and replay are the peer's."""
    made = call(cluster(), required={**NOBODY, "model-replicas": [thing(REPLICA, "r1")]})
    assert made.desired["usage-replicas"]["spec"] == {
        "of": {
            "apiVersion": "modelplane.ai/v1alpha1",
            "kind": "InferenceCluster",
            "resourceRef": {"name": "demo"},
        },
        "reason": "ModelReplicas are scheduled to this InferenceCluster",
        "replayDeletion": True,
    }
    message = "used by ModelReplica modelplane-system/r1"
    assert made.conditions["DeletionProtected"] == (True, "InUse", message)


def test_nobody_uses_the_cluster() -> None:
    """Asked, and none: the guard goes."""
    made = call(cluster(), guard(), NOBODY)
    assert "usage-replicas" not in made.desired
    assert made.conditions["DeletionProtected"] == (False, "NotInUse", "")


def test_unanswered_lookups_keep_the_guard() -> None:
    """Not fetched yet reads like none; dropping the guard on it would free the cluster."""
    assert "usage-replicas" in call(cluster(), guard()).desired
    assert "usage-replicas" in call(cluster(), guard(), {"model-replicas": []}).desired


def test_objects_that_still_finalize_hold_the_cluster() -> None:
    """The replicas are gone, their Objects are not: found by the provider's record, in any namespace."""
    made = call(cluster(), required={**NOBODY, "provider-config-usages": [record("o1")]})
    assert made.conditions["DeletionProtected"][2] == "used by Object team/o1"
    written = made.desired["usage-replicas"]["metadata"]["annotations"][USERS]
    assert written == "kubernetes.m.crossplane.io/v1alpha1,Object,team,o1"
    assert made.lookups["provider-config-usages"].namespace == ""


def test_an_object_without_its_record_is_asked_for_by_name() -> None:
    """A foreground cascade takes the record first; the Object is remembered until it is gone."""
    asked = call(cluster(), guard("o1"), NOBODY)
    assert asked.lookups["user-0"].match_name == "o1"
    assert "usage-replicas" in asked.desired
    found = call(cluster(), guard("o1"), {**NOBODY, "user-0": [thing(OBJECT, "o1")]})
    assert "usage-replicas" in found.desired
    gone = call(cluster(), guard("o1"), {**NOBODY, "user-0": []})
    assert "usage-replicas" not in gone.desired


def test_a_thousand_users_are_named_stably() -> None:
    """At most 20 names, sorted, and a count; the same users in another order read the same."""
    records = [record(f"o{n:04}") for n in range(1000)]
    one = call(cluster(), required={**NOBODY, "provider-config-usages": records})
    two = call(cluster(), required={**NOBODY, "provider-config-usages": records[::-1]})
    message = one.conditions["DeletionProtected"][2]
    assert message == two.conditions["DeletionProtected"][2]
    assert message.endswith("Object team/o0019 and 980 more")
    assert one.desired == two.desired


def test_settings_name_the_kinds_to_ask_for() -> None:
    """A kind that is not installed fails the pipeline, so an empty list asks for none."""
    none = call(cluster(), settings={"kind": "Settings", "consumers": []})
    assert set(none.lookups) == {"provider-config-usages"}
    other = [{"apiVersion": "a.example/v1", "kind": "Batch", "label": "a.example/cluster"}]
    asked = call(cluster(), settings={"kind": "Settings", "consumers": other})
    selector = asked.lookups["consumers-Batch.a.example/v1"]
    assert dict(selector.match_labels.labels) == {"a.example/cluster": "demo"}


def test_a_damaged_memory_is_ignored() -> None:
    """An annotation that somebody edited names nobody, and raises nothing."""
    observed = {
        "usage-replicas": thing(CLUSTER_USAGE, "g", metadata={"annotations": {USERS: "x,y ,,, a,b,c,d,e"}})
    }
    assert "user-0" not in call(cluster(), observed, NOBODY).lookups

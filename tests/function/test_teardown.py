"""The staged teardown, pass by pass: each stage waits for the one before, whatever is lost in between."""

from __future__ import annotations

import copy
import itertools
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from function.cluster.teardown.request import Stage, stage_of
from function.model import STACK
from function.order import TABLE, Role
from function.serving import key
from support.calls import cluster, thing
from support.simulation import ATTEMPT, Simulation

STAGED = {"mode": "Staged"}
CHART = {"repository": "https://charts.example.org", "name": "textgen", "version": "0.1.0"}
SERVICES = [{"namespace": "models", "name": name, "chart": CHART} for name in ("a", "b", "c")]
NOBODY: dict[str, list[Any]] = {"model-replicas": [], "provider-config-usages": []}
KUBECONFIG = {"type": "Kubeconfig", "name": "kc", "key": "kubeconfig"}
REPLICA = thing(("modelplane.ai/v1alpha1", "ModelReplica"), "r1")
GATE = "usage-staged-teardown"


def eks(name: str = "l4") -> dict[str, Any]:
    """Return an InferenceClass."""
    accelerator = {"instanceType": "g6.xlarge", "accelerator": {"type": "l4"}}
    spec = {"devices": [{"name": "gpu"}], "provisioning": {"provider": "EKS", "eks": accelerator}}
    return {
        "apiVersion": "modelplane.ai/v1alpha1",
        "kind": "InferenceClass",
        "metadata": {"name": name},
        "spec": spec,
    }


def living(source: str = "EKS", **spec: Any) -> Simulation:  # noqa: ANN401 -- JSON
    """Return an InferenceCluster with three services that is up."""
    given_spec = {"services": copy.deepcopy(SERVICES), "deletion": dict(STAGED), **spec}
    if source == "EKS":
        given_spec["block"] = {"eks": {"region": "us-west-2"}}
        given_spec["nodePools"] = [{"name": "gpu", "className": "l4", "zones": ["a"]}]
    it = Simulation(cluster(source, **given_spec), {**NOBODY, "class-l4": [eks()]}, secrets=[KUBECONFIG])
    for _ in range(8):
        it.step()
    assert {t.key for t in it.things.values()} >= {STACK, key("models", "a"), key("models", "c"), GATE}
    return it


def run(it: Simulation, passes: int = 60) -> list[str]:
    """Go on until the InferenceCluster is deleted, all letting go at once; return the stages seen."""
    seen: list[str] = []
    for _ in range(passes):
        if it.deleted:
            return seen
        it.step()
        stage = it.teardown().get("stage", "")
        if stage and stage not in seen:
            seen.append(stage)
        for ref in it.finalizing():
            it.finish(ref)
    raise AssertionError(f"never deleted: {it.teardown()}")


def kinds(it: Simulation) -> list[str]:
    """Return the kinds of what was dropped, in order, each run of one kind once."""
    found = [ref[0] for ref in it.order]
    return [kind for at, kind in enumerate(found) if at == 0 or found[at - 1] != kind]


@pytest.mark.parametrize("source", ["EKS", "Local"])
@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_stages_come_in_order_and_the_delete_is_replayed(source: str, policy: str) -> None:
    """Services, then the stack, then the cluster; at the end nothing composed is left."""
    it = living(source)
    it.delete(policy)
    assert not it.deleted
    stages = run(it)
    assert stages == ["DrainingServices", "RemovingServingStack", "RemovingCluster", "Released"]
    dropped = kinds(it)
    assert dropped[0] == "Object"
    assert dropped.index("ServingStack") < dropped.index("ClusterProviderConfig")
    assert it.things == {}


def test_the_stage_order_is_that_of_the_table() -> None:
    """What a row protects is dropped in a later stage than what it outlives, or in the same one."""
    keys = {Role.SERVICE: key("ns", "x"), Role.STACK: STACK, Role.CLUSTER: "eks-cluster"}
    order = list(Stage)
    for row in TABLE:
        if row.protected in keys and row.until_gone in keys:
            first, then = stage_of(keys[row.until_gone]), stage_of(keys[row.protected])
            assert order.index(first) < order.index(then), row.name


def test_nothing_is_dropped_while_somebody_uses_the_cluster() -> None:
    """WaitingForUsers names them; taking the attempt off cancels, and the status says so."""
    it = living()
    it.required["model-replicas"] = [REPLICA]
    it.step()
    it.delete()
    for _ in range(3):
        response = it.step()
    assert it.teardown()["stage"] == "WaitingForUsers"
    assert it.teardown()["waitingFor"] == ["ModelReplica modelplane-system/r1"]
    assert f"kubectl annotate inferencecluster demo {ATTEMPT}-" in it.teardown()["message"]
    assert it.order == []
    started = it.teardown()["startedAt"]
    assert it.step().status["teardown"]["startedAt"] == started
    del it.composite["metadata"]["annotations"]
    response = it.step()
    assert "teardown" not in it.composite["status"]
    assert response.conditions["Teardown"][:2] == (False, "NotRequested")


def test_later_nothing_cancels() -> None:
    """Once services are being drained, taking the attempt or the mode away changes nothing."""
    it = living()
    it.delete()
    it.step()
    assert it.teardown()["stage"] == "DrainingServices"
    del it.composite["metadata"]["annotations"]
    it.composite["spec"]["deletion"] = {"mode": "Cascade"}
    for _ in range(30):
        it.step()
        for ref in it.finalizing():
            it.finish(ref)
    assert it.teardown()["stage"] == "Released"
    assert it.things == {}


def test_a_stuck_service_is_shown_with_since_when_and_why() -> None:
    """The stack waits; the entry names the stage of the LLMService and when its deletion began."""
    it = living()
    it.delete()
    for _ in range(12):
        it.step()
        for ref in it.finalizing():
            name = it.things[ref].body["spec"]["forProvider"]["manifest"]["metadata"]["name"]
            if name != "b":
                it.finish(ref)
                continue
            body = it.things[ref].body
            body["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
            deletion = {"stage": "PodsTerminating", "podsRemaining": 2, "message": "waiting for 2 pods"}
            status = {"phase": "Deleting", "deletion": deletion}
            body["status"]["atProvider"] = {"manifest": {"status": status}}
    assert it.teardown()["stage"] == "DrainingServices"
    since = "deleting since 2026-01-02T03:04:05Z: PodsTerminating, waiting for 2 pods"
    assert it.teardown()["waitingFor"] == [f"LLMService models/b, {since}"]
    (shown,) = it.composite["status"]["services"]
    assert shown == {
        "namespace": "models",
        "name": "b",
        "phase": "Deleting",
        "deletion": {"stage": "PodsTerminating", "podsRemaining": 2, "message": "waiting for 2 pods"},
    }
    assert STACK in {t.key for t in it.things.values()}


@pytest.mark.parametrize("broken", ["pools", "class", "source"])
def test_it_needs_no_valid_spec(broken: str) -> None:
    """An InferenceCluster that could not be planned any more still comes down in order."""
    it = living()
    if broken == "pools":
        it.composite["spec"]["nodePools"] = [{"name": "gpu"}]
    elif broken == "class":
        it.required["class-l4"] = []
    else:
        it.composite["spec"]["cluster"]["source"] = "Nowhere"
    it.delete()
    assert run(it)[-1] == "Released"


def test_an_attempt_of_before_does_not_start_a_teardown() -> None:
    """It was refused by another guard, perhaps last month; a change of mode must not carry it out."""
    it = living()
    del it.things["ClusterUsage", "", GATE]
    it.composite["metadata"]["annotations"] = {ATTEMPT: "Background"}
    for _ in range(3):
        response = it.step()
    assert "teardown" not in it.composite["status"]
    assert response.conditions["Teardown"][1] == "DeletionPending"
    assert ATTEMPT in response.conditions["Teardown"][2]
    del it.composite["metadata"]["annotations"]
    it.step()
    it.delete("Background")
    it.step()
    assert it.teardown()["stage"] == "DrainingServices"


def test_an_orphaning_delete_takes_nothing_down() -> None:
    """Orphan means that what is composed stays; the condition says how to have that."""
    it = living()
    it.delete("Orphan")
    response = it.step()
    assert "teardown" not in it.composite["status"]
    assert "Cascade" in response.conditions["Teardown"][2]


def test_staged_to_cascade_lets_the_gate_go_without_a_replay() -> None:
    """The refused delete of before is not carried out because the mode changes."""
    it = living()
    it.required["model-replicas"] = [REPLICA]
    it.delete()
    it.step()
    it.composite["spec"]["deletion"] = {"mode": "Cascade"}
    it.step()
    assert it.things["ClusterUsage", "", GATE].body["spec"]["replayDeletion"] is False
    it.step()
    assert ("ClusterUsage", "", GATE) not in it.things
    assert not it.deleted


def test_a_lost_replay_is_tried_three_times_and_then_said() -> None:
    """The gate is composed for one pass and let go of again, every half minute; then a person is asked."""
    it = living("Local")
    it.replays = False
    it.delete()
    gates: list[bool] = []
    for _ in range(60):
        it.step()
        for ref in it.finalizing():
            it.finish(ref)
        gates.append(("ClusterUsage", "", GATE) in it.things)
        if it.teardown()["stage"] == "Released":
            it.now += timedelta(seconds=10)
    assert it.teardown()["releases"] == 3
    assert sum(a and not b for a, b in itertools.pairwise(gates)) == 3
    assert it.teardown()["stage"] == "DeletionPending"
    assert "kubectl delete inferencecluster demo --cascade=foreground" in it.teardown()["message"]
    assert it.things == {}
    it.delete()
    assert it.deleted


def test_a_replay_that_comes_late_still_counts() -> None:
    """The second release carries the delete out when the first one was lost."""
    it = living("Local")
    it.replays = False
    it.delete()
    while it.teardown().get("releases", 0) < 1:
        it.step()
        for ref in it.finalizing():
            it.finish(ref)
    it.replays = True
    it.now += timedelta(seconds=31)
    it.step()
    it.step()
    assert it.deleted


CHAOS = st.lists(
    st.sampled_from(["pass", "status lost", "one goes", "all go", "pass", "all go"]), min_size=5, max_size=40
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHAOS)
def test_whatever_is_lost_in_between_the_order_holds(events: list[str]) -> None:
    """A pass that ends before its status, objects that take long: forward only, and never too early."""
    it = living()
    it.delete()
    seen: list[str] = []
    for event in [*events, *["pass", "all go"] * 30]:
        if it.deleted:
            break
        if event in ("pass", "status lost"):
            it.step(status_lost=event == "status lost")
            check(it)
            seen.append(it.teardown().get("stage", "WaitingForUsers"))
        else:
            for ref in it.finalizing()[: 1 if event == "one goes" else None]:
                it.finish(ref)
    assert it.deleted
    order = [stage.value for stage in Stage]
    numbers = [order.index(stage) for stage in seen]
    assert numbers == sorted(numbers)


def check(it: Simulation) -> None:
    """Nothing is being deleted that something still needs."""
    going = {ref[0] for ref, t in it.things.items() if t.deleting}
    there = {t.key for t in it.things.values()}
    carriers = [r for r, t in it.things.items() if r[0] == "Object" and not r[2].endswith("-leaf")]
    if "ServingStack" in going:
        assert not carriers
    if "EKSCluster" in going or "ClusterProviderConfig" in going:
        assert STACK not in there
        assert not it.leaves()

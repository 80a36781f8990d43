"""A teardown whose recorded delete Crossplane cannot carry out: tried three times, then a person is told."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from controlplane.kube import ApiError
from e2e.test_delete_cluster import run
from e2e.test_users import guarded
from e2e.zoo import Zoo
from modelctl.exits import Exit
from support.world import CLUSTER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from e2e.conftest import MakeWorld
    from support.world import World

CROSSPLANE = "system:serviceaccount:crossplane-system:crossplane"
ADMISSION = "admissionregistration.k8s.io/v1"


def test_a_lost_replay_is_told_and_repeated(
    world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is gone by then but the InferenceCluster; what doctor says ends it, and so does modelctl."""
    both = it, other = world(), world(suffix="other")
    monkeypatch.setenv("KUBECONFIG", str(it.plane.kubeconfig))
    for one in both:
        one.create(more={"deletion": {"mode": "Staged"}})
    with refused_to_crossplane(*both):
        for one in both:
            one.ready()
            one.plane.wait(partial(guarded, one), "the gate is in force", 60, pause=0.3)
            with pytest.raises(ApiError, match="in-use by"):
                one.delete("Foreground")
        for one in both:
            one.plane.wait(partial(given_up, one), "it gives up", 400, pause=0.5)
            assert teardown(one)["releases"] == 3
            command = f"kubectl delete inferencecluster {one.name} --cascade=foreground"
            assert command in teardown(one)["message"]
            assert one.left() == []
    zoo = Zoo(it, tmp_path)
    (found,) = zoo.about(f"InferenceCluster {it.name}")
    assert found["check"] == "lost-replays"
    zoo.shell(found["command"])
    it.gone(seconds=60)
    done = run(other, Exit.DONE, "--timeout", "1m")
    assert done.stdout == f"InferenceCluster {other.name} is gone\n"


def teardown(it: World) -> dict[str, Any]:
    """Return status.teardown."""
    found: dict[str, Any] = it.plane.api.get(*CLUSTER, it.name)["status"].get("teardown", {})
    return found


def given_up(it: World) -> bool:
    """Whether only a person can go on."""
    return bool(teardown(it).get("stage") == "DeletionPending")


@contextmanager
def refused_to_crossplane(*clusters: World) -> Iterator[None]:
    """Let no delete of these by Crossplane pass: its replay is tried once, and only logged."""
    api, name = clusters[0].plane.api, f"no-replay-{clusters[0].name}"
    rule = {"apiGroups": ["modelplane.ai"], "apiVersions": ["*"], "resources": ["inferenceclusters"]}
    rule |= {"operations": ["DELETE"], "resourceNames": [it.name for it in clusters]}
    expression = f"request.userInfo.username != '{CROSSPLANE}'"
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    policy = {"apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}}
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding"}
    api.create({**policy, "spec": spec})
    api.create({**binding, "spec": {"policyName": name, "validationActions": ["Deny"]}})
    try:
        yield
    finally:
        api.delete(binding)
        api.delete(policy)

"""The bundle with the real Crossplane, garbage collector and namespace controller, to the end."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from controlplane.errors import ControlPlaneError
from controlplane.kube import ApiError
from controlplane.timeline import Timeline
from policies import planes, small_platform, watching
from policies.kinds import KINDS, PATIENCE, Object
from policies.small_platform import HOME
from policies.wire import User

if TYPE_CHECKING:
    from controlplane.plane import Plane

ATTEMPT = "usage.crossplane.io/deletion-attempt-with-policy"
PROTECTION = "protection.crossplane.io/v1beta1"
TREE = [
    ("modelplane.ai/v1alpha1", "InferenceCluster"),
    ("infrastructure.modelplane.ai/v1alpha1", "ServingStack"),
    ("v1", "ConfigMap"),
]


def _apply(plane: Plane, kind: str, name: str, namespace: str = "", **metadata: object) -> Object:
    where = {"namespace": namespace} if namespace else {}
    manifest = {"apiVersion": KINDS[kind].api_version(), "kind": kind, "spec": {}}
    return plane.api.apply({**manifest, "metadata": {"name": name, **where, **metadata}})


def _composed(plane: Plane, kind: str, name: str, namespace: str = "") -> bool:
    found = plane.api.find(KINDS[kind].api_version(), kind, name, namespace or None)
    return small_platform.condition(found, "Ready") == "True"


@pytest.fixture
def cluster(platform: Plane) -> Object:
    """Return an InferenceCluster whose tree of three levels stands."""
    name = f"tern-{uuid.uuid4().hex[:8]}"
    obj = _apply(platform, "InferenceCluster", name)
    platform.wait(lambda: _composed(platform, "InferenceCluster", name), f"{name} is ready", PATIENCE)
    assert platform.api.find("v1", "ConfigMap", f"{name}-stack-settings", HOME)
    return obj


@pytest.fixture
def used(platform: Plane, cluster: Object) -> Object:
    """Return an EKSCluster that an InferenceCluster controls and a Usage protects."""
    name = f"{cluster['metadata']['name']}-eks"
    owner = {
        "apiVersion": cluster["apiVersion"],
        "kind": cluster["kind"],
        "name": cluster["metadata"]["name"],
    }
    owners = [{**owner, "uid": cluster["metadata"]["uid"], "controller": True}]
    eks = _apply(platform, "EKSCluster", name, HOME, ownerReferences=owners)
    _protect(platform, eks)
    return eks


def _protect(plane: Plane, obj: Object) -> None:
    plane.api.apply(_usage(obj))
    plane.wait(
        lambda: "crossplane.io/in-use" in _metadata(plane, obj).get("labels", {}),
        "the Usage protects",
        PATIENCE,
    )


def _usage(obj: Object) -> Object:
    name = obj["metadata"]["name"]
    of = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "resourceRef": {"name": name}}
    spec = {"of": of, "reason": "its leaves finalize", "replayDeletion": True}
    metadata = {"name": name, "namespace": HOME}
    return {"apiVersion": PROTECTION, "kind": "Usage", "metadata": metadata, "spec": spec}


def _metadata(plane: Plane, obj: Object) -> Object:
    found = plane.api.get(obj["apiVersion"], obj["kind"], obj["metadata"]["name"], HOME)
    metadata: Object = found["metadata"]
    return metadata


def _attempt(plane: Plane, obj: Object) -> str:
    annotations: dict[str, str] = _metadata(plane, obj).get("annotations", {})
    return annotations.get(ATTEMPT, "")


def test_tree_of_three_levels_goes_in_foreground(platform: Plane, cluster: Object) -> None:
    """The default is refused with the command to run, and that command takes the tree down leaf by leaf."""
    name = cluster["metadata"]["name"]
    with pytest.raises(ControlPlaneError) as refusal:
        platform.kubectl("delete", "inferencecluster", name)
    command = f"kubectl delete inferenceclusters {name} --cascade=foreground"
    assert command in str(refusal.value)
    with Timeline(platform.api, TREE) as timeline:
        platform.kubectl(*command.split()[1:], "--wait=false")
        timeline.wait(lambda _: len(_ended(timeline, name)) == len(TREE), "all of it is gone", PATIENCE)
    # A reconcile that was under way may compose the leaf once more: its first end counts.
    assert _ended(timeline, name) == ["ConfigMap", "ServingStack", "InferenceCluster"]
    platform.wait(
        lambda: not platform.api.find("v1", "ConfigMap", f"{name}-stack-settings", HOME),
        "it all went",
        PATIENCE,
    )
    answers = watching.by(platform, watching.COLLECTOR, f"{name}-stack")
    # The collector's own preconditions may fail (409) until it has seen the latest version.
    assert 200 in answers
    assert set(answers) <= {200, 409}


def _ended(timeline: Timeline, name: str) -> list[str]:
    """Return the kinds of a tree in the order in which the first of each went."""
    return list(dict.fromkeys(ref.kind for ref in timeline.gone_order() if ref.name.startswith(name)))


def test_namespace_full_of_deployments_goes(platform: Plane) -> None:
    """Deleting a namespace with 20 ModelDeployments and what they compose ends with nothing left."""
    team = "team-leaving"
    platform.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}})
    names = [f"model-{number}" for number in range(20)]
    for name in names:
        _apply(platform, "ModelDeployment", name, team)
    platform.wait(
        lambda: all(_composed(platform, "ModelDeployment", name, team) for name in names),
        "all are ready",
        PATIENCE,
    )
    platform.kubectl("delete", "namespace", team, "--wait=false")
    platform.wait(lambda: platform.api.find("v1", "Namespace", team) is None, f"{team} is gone", PATIENCE)
    swept = [d for d in watching.deletes(platform) if d.namespace == team and d.user == watching.NAMESPACES]
    assert {d.code for d in swept if d.resource in {"modeldeployments", "modelreplicas"}} == {200}


def test_replay_passes(platform: Plane, used: Object) -> None:
    """What a Usage held back is deleted by Crossplane's replay in the background once the Usage is gone."""
    name = used["metadata"]["name"]
    _collect(platform, used)
    platform.api.delete(_usage(used))
    platform.wait(
        lambda: platform.api.find(used["apiVersion"], "EKSCluster", name, HOME) is None,
        "the replay ran",
        PATIENCE,
    )
    first, *more = watching.by(platform, watching.CROSSPLANE, name)
    assert first == 200
    assert set(more) <= {404}, "a Usage that is looked at again may replay again"


def _collect(plane: Plane, used: Object) -> None:
    """Do what the collector does in a cascade: a background delete, which the Usage refuses and records."""
    name = used["metadata"]["name"]
    path = f"{plane.api.path(used['apiVersion'], 'EKSCluster', name, HOME)}"
    wire = planes.wire_to(plane)
    answer = wire.send("DELETE", path, {"propagationPolicy": "Background"}, user=User(watching.COLLECTOR))
    assert answer.code == 409, answer.message
    assert _attempt(plane, used) == "Background"


def test_background_delete_that_is_no_replay_does_not(platform: Plane, cluster: Object) -> None:
    """Crossplane's own token is refused where nothing was attempted, although the object has a controller."""
    stack = f"{cluster['metadata']['name']}-stack"
    crossplane = platform.api.as_user(platform.token(("crossplane-system", "crossplane")))
    version, kind = KINDS["ServingStack"].api_version(), "ServingStack"
    with pytest.raises(ApiError) as refusal:
        crossplane.delete(
            {"apiVersion": version, "kind": kind, "metadata": {"name": stack, "namespace": HOME}},
            "Background",
        )
    assert (refusal.value.status, refusal.value.reason) == (422, "Invalid")
    assert "deletionTimestamp" not in platform.api.get(version, kind, stack, HOME)["metadata"]


def test_dry_run_leaves_no_attempt(platform: Plane, used: Object) -> None:
    """A dry run is refused before the Usage's webhook sees it; what no policy covers keeps an attempt."""
    name = f"uncovered-{used['metadata']['name']}"
    uncovered = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": HOME}}
    _protect(platform, platform.api.apply(uncovered))
    for obj in (used, uncovered):
        with pytest.raises(ApiError):
            platform.api.delete(obj, "Foreground", dry_run=True)
    assert _attempt(platform, used) == ""
    assert _attempt(platform, uncovered) == "Foreground"

"""This function takes over what Modelplane's has composed, and nothing is recreated.

Modelplane's answers are recorded (see `support.peer`); with `PEER=CHECKOUT` its own function composes the
first state. All sources are up at the same time. GKE's and Nebius' ServingStacks never get ready: no key is
behind the identity that their ProviderConfigs log in with.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from controlplane.errors import ControlPlaneError
from support import nebius
from support.calls import COMPOSED as OUR_LABEL
from support.peer_states import CLOUDS, INFERENCE_CLASS, Cloud
from support.world import CLUSTER, COMPOSED, SYSTEM

if TYPE_CHECKING:
    from conftest import SharedPlane
    from controlplane.plane import Plane

Manifest = dict[str, Any]

INFRASTRUCTURE = "infrastructure.modelplane.ai/v1alpha1"
CONFIG = ("kubernetes.m.crossplane.io/v1alpha1", "ClusterProviderConfig")
CLUSTERS = tuple((INFRASTRUCTURE, cloud.kind[1]) for cloud in CLOUDS.values() if cloud.source != "Existing")
KINDS = tuple({*COMPOSED, *CLUSTERS, CONFIG})
NEVER_READY = ("GKE", "Nebius")


def create(plane: Plane, cloud: Cloud) -> None:
    """Create the InferenceCluster of one source, composed by the peer."""
    composite = cloud.composite()
    del composite["metadata"]["uid"]
    composite["spec"]["crossplane"] = {"compositionRef": {"name": "variant-peer"}}
    plane.api.create(composite)


def supply(plane: Plane) -> None:
    """Create what the user brings: the class, the existing cluster's kubeconfig and Nebius' key."""
    plane.api.apply(INFERENCE_CLASS)
    kubeconfig = (plane.state.private("kubeconfigs") / "admin").read_text()
    ref = CLOUDS["Existing"].block["secretRef"]
    plane.api.apply(_secret(SYSTEM, ref["name"], {ref["key"]: kubeconfig}))
    key = CLOUDS["Nebius"].identity
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key["namespace"]}})
    plane.api.apply(_secret(key["namespace"], key["name"], {key["key"]: "{}"}))


def _secret(namespace: str, name: str, data: dict[str, str]) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


def composed(plane: Plane, cloud: Cloud) -> dict[str, Manifest]:
    """Return everything below an InferenceCluster by kind, namespace and name."""
    label = {"labelSelector": f"crossplane.io/composite={cloud.name}"}
    return {
        f"{kind} {item['metadata'].get('namespace', '')}/{item['metadata']['name']} of {api_version}": item
        for api_version, kind in KINDS
        for item in plane.api.list(api_version, kind, **label)
    }


def uids(found: dict[str, Manifest]) -> dict[str, str]:
    """Return the UIDs of what is not being deleted."""
    alive = {name: item["metadata"] for name, item in found.items()}
    return {name: meta["uid"] for name, meta in alive.items() if "deletionTimestamp" not in meta}


def is_up(plane: Plane, cloud: Cloud) -> bool:
    """Whether a cluster is as far as it gets: Ready, or with leaves that have no way in."""
    status = plane.api.get(*CLUSTER, cloud.name).get("status", {})
    ready = [c["type"] for c in status.get("conditions", []) if c["status"] == "True"]
    if cloud.source not in NEVER_READY:
        return "Ready" in ready
    kinds = [name.split()[0] for name in composed(plane, cloud)]
    return "ClusterReady" in ready and {"Release", "Object", "Usage"} <= set(kinds)


def is_ours(plane: Plane, cloud: Cloud) -> bool:
    """Whether this function has taken over all that the InferenceCluster itself composes."""
    own = [item for item in composed(plane, cloud).values() if _controller(item) == cloud.name]
    assert len(own) >= (2 if cloud.source == "Existing" else 4)
    return all(OUR_LABEL.items() <= item["metadata"].get("labels", {}).items() for item in own)


def _controller(item: Manifest) -> str:
    owners = item["metadata"].get("ownerReferences", [])
    found = [o["name"] for o in owners if o.get("controller") and o["kind"] == "InferenceCluster"]
    return found[0] if found else ""


def swap(plane: Plane, cloud: Cloud) -> None:
    """Let this function compose the InferenceCluster from now on."""
    head = {"apiVersion": CLUSTER[0], "kind": CLUSTER[1], "metadata": {"name": cloud.name}}
    plane.api.patch(head, {"spec": {"crossplane": {"compositionRef": {"name": "with-modelplane"}}}})


def test_no_resource_of_any_source_is_recreated(shared_plane: SharedPlane) -> None:
    """Every UID that the first state has is there in the last, and nothing of it is being deleted."""
    plane = shared_plane("swap")  # of its own: whoever watches a kind loses its watch when its CRD changes
    nebius.admit_on(plane)
    supply(plane)
    for cloud in CLOUDS.values():
        create(plane, cloud)
    before: dict[str, dict[str, str]] = {}
    for source, cloud in CLOUDS.items():
        plane.wait(partial(is_up, plane, cloud), f"{cloud.name} is up", 240, pause=0.5)
        assert not is_ours(plane, cloud)
        before[source] = uids(composed(plane, cloud))
        assert {"ClusterProviderConfig", "ServingStack"} <= {name.split()[0] for name in before[source]}
    for cloud in CLOUDS.values():
        swap(plane, cloud)
    for source, cloud in CLOUDS.items():
        plane.wait(partial(is_ours, plane, cloud), f"{cloud.name} is taken over", 120, pause=0.5)
        after = uids(composed(plane, cloud))
        assert before[source].items() <= after.items()
        assert is_up(plane, cloud)
    assert_key_is_held(plane)


def assert_key_is_held(plane: Plane) -> None:
    """Assert that Nebius' key is kept by the leaves, though it is in another namespace than their Usages."""
    key = CLOUDS["Nebius"].identity
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {f: key[f] for f in ("name", "namespace")}}

    def in_use() -> bool:
        found = plane.api.get("v1", "Secret", key["name"], key["namespace"])
        return "crossplane.io/in-use" in found["metadata"].get("labels", {})

    plane.wait(in_use, "a Usage of Nebius' key works", 60, pause=0.5)
    with pytest.raises(ControlPlaneError, match=r"in-use by .* usage"):
        plane.api.delete(secret, "Background")

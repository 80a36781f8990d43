"""One InferenceCluster on a real control plane: made, watched, deleted, and asked in which order it went."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Self

from crossplane.function.resource import child_name

from controlplane.timeline import Ref, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import TracebackType

    from controlplane.kube import Propagation
    from controlplane.plane import Plane
    from controlplane.timeline import Event

Manifest = dict[str, Any]

CLUSTER = ("modelplane.ai/v1alpha1", "InferenceCluster")
STACK = ("infrastructure.modelplane.ai/v1alpha1", "ServingStack")
EKS = ("infrastructure.modelplane.ai/v1alpha1", "EKSCluster")
OBJECT = ("kubernetes.m.crossplane.io/v1alpha1", "Object")
RELEASE = ("helm.m.crossplane.io/v1beta1", "Release")
USAGE = ("protection.crossplane.io/v1beta1", "Usage")
CLUSTER_USAGE = ("protection.crossplane.io/v1beta1", "ClusterUsage")
KUBERNETES_CONFIG = ("kubernetes.m.crossplane.io/v1alpha1", "ProviderConfig")
HELM_CONFIG = ("helm.m.crossplane.io/v1beta1", "ProviderConfig")
REPLICA = ("modelplane.ai/v1alpha1", "ModelReplica")
SECRET = ("v1", "Secret")
CONFIG_MAP = ("v1", "ConfigMap")
WATCHED = (CLUSTER, STACK, EKS, OBJECT, RELEASE, USAGE, KUBERNETES_CONFIG, HELM_CONFIG, SECRET, CONFIG_MAP)

COMPOSED = (STACK, EKS, OBJECT, RELEASE, USAGE, CLUSTER_USAGE, KUBERNETES_CONFIG, HELM_CONFIG, SECRET)

SYSTEM = "modelplane-system"
HOLD = "tests.example.org/hold"
LEAVES = {"certificates": RELEASE, "controller": RELEASE, "gateway": OBJECT, "settings": OBJECT}

INFERENCE_CLASS: Manifest = {
    "apiVersion": "modelplane.ai/v1alpha1",
    "kind": "InferenceClass",
    "metadata": {"name": "l4"},
    "spec": {
        "devices": [
            {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 1}
        ],
        "provisioning": {
            "provider": "EKS",
            "eks": {"instanceType": "g6.xlarge", "accelerator": {"type": "nvidia-l4", "count": 1}},
        },
    },
}


class World:
    """The InferenceCluster `name` and all that comes of it, recorded from its creation on."""

    def __init__(
        self,
        plane: Plane,
        name: str,
        more: tuple[tuple[str, str], ...] = (),
        absent: Collection[tuple[str, str]] = (),
    ) -> None:
        """Take plane, a name that no other test uses, further kinds to record, and kinds not served there."""
        self.plane = plane
        self.name = name
        self.composed = [kind for kind in COMPOSED if kind not in absent]
        watched = [kind for kind in (*WATCHED, *more) if kind not in absent]
        self.timeline = Timeline(plane.api, watched, only=self._is_ours)
        self.stack = child_name(name, "serving-stack")

    def __enter__(self) -> Self:
        """Start recording."""
        self.timeline.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop recording."""
        self.timeline.__exit__(kind, error, trace)

    def _is_ours(self, ref: Ref) -> bool:
        """Whether an object is of this cluster: Crossplane names what it composes after the root."""
        return ref.name == self.name or ref.name.startswith(f"{self.name}-")

    # What there is

    @property
    def cluster(self) -> Ref:
        """The InferenceCluster."""
        return Ref("InferenceCluster", "", self.name)

    @property
    def eks(self) -> Ref:
        """The cluster XR."""
        return Ref("EKSCluster", SYSTEM, self.name)

    @property
    def kubeconfig(self) -> Ref:
        """The Secret with the kubeconfig, which the cluster XR composes."""
        return Ref("Secret", SYSTEM, f"{self.name}-kubeconfig")

    @property
    def serving_stack(self) -> Ref:
        """The ServingStack."""
        return Ref("ServingStack", SYSTEM, self.stack)

    @property
    def provider_config(self) -> Ref:
        """Both ProviderConfigs of the stack, which share kind and name; `group` tells them apart."""
        return Ref("ProviderConfig", SYSTEM, child_name(self.stack, "cluster"))

    def leaf(self, key: str) -> Ref:
        """Return the leaf of a component of `support.product.small_stack`."""
        return Ref(LEAVES[key][1], SYSTEM, child_name(self.stack, key))

    @property
    def leaves(self) -> list[Ref]:
        """All leaves."""
        return [self.leaf(key) for key in LEAVES]

    def remote(self, key: str) -> Manifest:
        """Return the ConfigMap that the Object of a component manages, by name."""
        head = {"apiVersion": "v1", "kind": "ConfigMap"}
        return {**head, "metadata": {"name": f"{self.stack}-{key}", "namespace": SYSTEM}}

    def exists(self, ref: Ref, api_version: str) -> bool:
        """Whether the API server has the object now."""
        return self.plane.api.find(api_version, ref.kind, ref.name, ref.namespace or None) is not None

    # What is done

    def create(
        self, source: str = "Local", composition: str = "", more: Manifest | None = None, **cluster: object
    ) -> None:
        """Create the InferenceCluster, `more` beside spec.cluster; source EKS gets a region and a pool."""
        spec: Manifest = {"cluster": {"source": source, **cluster}, **(more or {})}
        if source == "EKS":
            self.plane.api.apply(INFERENCE_CLASS)
            spec["cluster"]["eks"] = {"region": "us-west-2"}
            spec["nodePools"] = [{"name": "gpu", "className": "l4", "zones": ["us-west-2a"]}]
        if composition:
            spec["crossplane"] = {"compositionRef": {"name": composition}}
        head = {"apiVersion": CLUSTER[0], "kind": CLUSTER[1], "metadata": {"name": self.name}}
        self.plane.api.create({**head, "spec": spec})

    def ready(self, seconds: float = 300) -> None:
        """Wait until the InferenceCluster is Ready and every leaf has its Usage working."""
        self.plane.wait(self._is_ready, f"InferenceCluster {self.name} is Ready", seconds, pause=0.5)

    def _is_ready(self) -> bool:
        found = self.plane.api.get(*CLUSTER, self.name)
        conditions = found.get("status", {}).get("conditions", [])
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    def up(
        self, source: str = "Local", composition: str = "", more: Manifest | None = None, **cluster: object
    ) -> None:
        """Create it and wait until it is Ready."""
        self.create(source, composition, more, **cluster)
        self.ready()

    def delete(self, propagation: Propagation, ref: Ref | None = None, api_version: str = CLUSTER[0]) -> None:
        """Delete the InferenceCluster, or another object of this world."""
        ref = ref or self.cluster
        metadata = {"name": ref.name, "namespace": ref.namespace} if ref.namespace else {"name": ref.name}
        head = {"apiVersion": api_version, "kind": ref.kind, "metadata": metadata}
        self.plane.api.delete(head, propagation)

    def hold(self, key: str) -> Callable[[], None]:
        """Make a remote object refuse to go; returns what lets it go."""
        return self._hold(self.remote(key))

    def _hold(self, remote: Manifest) -> Callable[[], None]:
        self.plane.api.patch(remote, {"metadata": {"finalizers": [HOLD]}})

        def let_go() -> None:
            self.plane.api.patch(remote, {"metadata": {"finalizers": None}})

        return let_go

    def supply_kubeconfig(self) -> None:
        """Create the kubeconfig Secret of an existing cluster, as its user does."""
        inside = self.plane.state.private("kubeconfigs") / "admin"
        metadata = {"name": self.kubeconfig.name, "namespace": SYSTEM}
        data = {"kubeconfig": inside.read_text()}
        self.plane.api.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        )

    @property
    def _replica(self) -> Manifest:
        labels = {"modelplane.ai/cluster": self.name}
        metadata = {"name": f"{self.name}-model", "namespace": SYSTEM, "labels": labels}
        head = {"apiVersion": REPLICA[0], "kind": REPLICA[1], "metadata": metadata}
        return {**head, "spec": {"clusterName": self.name}}

    def replica(self) -> tuple[Ref, Callable[[], None]]:
        """Schedule a ModelReplica whose remote object refuses to go; returns its Object and a release."""
        self.plane.api.create(self._replica)
        workload = Ref("Object", SYSTEM, self._replica["metadata"]["name"])
        remote: Manifest = {"apiVersion": "v1", "kind": "ConfigMap"}
        remote["metadata"] = {"name": workload.name, "namespace": SYSTEM}
        self.plane.wait(
            lambda: self.plane.api.find("v1", "ConfigMap", workload.name, SYSTEM), "the replica runs", 120
        )
        return workload, self._hold(remote)

    def delete_replica(self) -> None:
        """Delete the ModelReplica in the background and wait until it has left the API."""
        self.plane.api.delete(self._replica, "Background")
        self.plane.wait(
            lambda: not self.plane.api.find(*REPLICA, self._replica["metadata"]["name"], SYSTEM),
            "the replica is gone",
            60,
        )

    def gone(self, ref: Ref | None = None, seconds: float = 300) -> None:
        """Wait until an object, by default the InferenceCluster, has left the API."""
        self.timeline.wait_gone(ref or self.cluster, seconds)

    def all_gone(self, seconds: float = 300) -> None:
        """Wait until nothing that carries this cluster's label is left."""
        self.gone(self.cluster, seconds)
        self.plane.wait(lambda: not self.left(), f"nothing of {self.name} is left", seconds, pause=0.5)

    def left(self) -> list[str]:
        """Return what is left of the cluster, whichever way it is deleted."""
        found: list[str] = []
        for api_version, kind in self.composed:
            selector = {"labelSelector": f"crossplane.io/composite={self.name}"}
            items = self.plane.api.list(api_version, kind, **selector)
            found += [f"{kind} {item['metadata']['name']}" for item in items]
        return found

    # What happened

    def gone_at(self, ref: Ref, api_version: str = "", *, last: bool = True) -> int:
        """Return the server's version at which an object went, the first or the last time."""
        self.timeline.wait_gone(ref)  # Its watch may lag behind the one that told of another's end.
        versions = [
            event.version
            for event in self.timeline.gone()
            if event.ref == ref and event.object["apiVersion"].startswith(api_version)
        ]
        assert versions, f"{ref} never went; gone: {[str(r) for r in self.timeline.gone_order()]}"
        return versions[-1] if last else versions[0]

    def assert_configs_outlive(self, leaves: list[Ref]) -> None:
        """Assert that each leaf had gone before the ProviderConfig of its provider went."""
        for leaf in leaves:
            api_version = RELEASE[0] if leaf.kind == "Release" else OBJECT[0]
            at, then = self.gone_at(leaf), self.gone_at(self.provider_config, api_version, last=False)
            assert at < then, f"the ProviderConfig of {leaf} went at {then}, before it at {at}"

    def assert_order(self, *groups: list[Ref]) -> None:
        """Assert that all of one group had gone before any of the next went."""
        for earlier, later in itertools.pairwise(groups):
            for first in earlier:
                for second in later:
                    at, then = self.gone_at(first), self.gone_at(second, last=False)
                    assert at < then, f"{second} went at {then}, before {first} at {at}"

    def deletes(self, ref: Ref) -> list[tuple[str, int]]:
        """Return who asked for an object's deletion and what the server answered, from its audit log."""
        return [
            (event["user"]["username"], event["responseStatus"]["code"])
            for event in self.plane.audit(containing=(f'"name":"{ref.name}"', '"verb":"delete"'))
            if event["verb"] == "delete"
            and event.get("objectRef", {}).get("name") == ref.name
            and event["objectRef"].get("namespace", "") == ref.namespace
            and event["objectRef"]["resource"].startswith(ref.kind.lower()[:5])
            and "responseStatus" in event
        ]

    def events(self, ref: Ref) -> list[Event]:
        """Return what was recorded of an object."""
        return [event for event in self.timeline.events if event.ref == ref]

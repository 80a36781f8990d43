"""What the peer's function and ours are both asked: every source, at every moment of its life that matters.

Composites and classes look as the API server hands them on, with the defaults of the peer's XRDs. What is
observed is of the peer's making: none of it carries a label of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossplane.function.resource import child_name

from support import calls

if TYPE_CHECKING:
    from crossplane.function.proto.v1 import run_function_pb2 as fnv1

Manifest = dict[str, Any]

CLASS = "peer-any-cloud"
INFRASTRUCTURE = "infrastructure.modelplane.ai/v1alpha1"
CREDENTIALS = {"type": "ClusterProviderConfig", "name": "default"}
ACCELERATOR = {"type": "nvidia-l4", "count": 1}

INFERENCE_CLASS: Manifest = {
    "apiVersion": "modelplane.ai/v1alpha1",
    "kind": "InferenceClass",
    "metadata": {"name": CLASS},
    "spec": {
        "provisioning": {
            "provider": "GKE",
            "gke": {"machineType": "g2-standard-8", "diskSizeGb": 100, "accelerator": ACCELERATOR},
            "eks": {"instanceType": "g6.xlarge", "diskSizeGb": 200, "accelerator": ACCELERATOR},
            "aks": {"vmSize": "Standard_NC24ads", "diskSizeGb": 128, "accelerator": ACCELERATOR},
            "nebius": {
                "platform": "gpu-l40s-a",
                "preset": "1gpu-8vcpu-32gb",
                "diskSizeGb": 100,
                "driversPreset": "cuda13.0",
                "accelerator": ACCELERATOR,
            },
            "vultr": {"plan": "vcg-l40s-16c-180g-48vram", "accelerator": ACCELERATOR},
        },
        "devices": [
            {
                "name": "gpu",
                "claim": "DRA",
                "driver": "gpu.nvidia.com",
                "deviceClassName": "gpu.nvidia.com",
                "count": 1,
                "attributes": {"productName": {"string": "NVIDIA L4"}, "ecc": {"bool": True}},
                "capacity": {"memory": {"value": "24Gi"}},
            }
        ],
    },
}


@dataclass(frozen=True)
class Cloud:
    """One source: its block, its pools, and what its cluster XR publishes and must have.

    `identity` is what the cluster XR publishes beside the kubeconfig; `machine` a node pool that it takes.
    """

    source: str
    block: Manifest
    pools: list[Manifest] = field(default_factory=list)
    identity: Manifest = field(default_factory=dict)
    machine: Manifest = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The InferenceCluster's name."""
        return f"peer-{self.source.lower()}"

    @property
    def key(self) -> str:
        """The key of its cluster XR."""
        return f"{self.source.lower()}-cluster"

    @property
    def kind(self) -> tuple[str, str]:
        """API version and kind of its cluster XR."""
        return (INFRASTRUCTURE, f"{self.source}Cluster")

    @property
    def secrets(self) -> list[Manifest]:
        """What its cluster XR publishes."""
        kubeconfig = {"type": "Kubeconfig", "name": f"{self.name}-kubeconfig", "key": "kubeconfig"}
        return [kubeconfig, self.identity] if self.identity else [kubeconfig]

    def composite(self, **spec: object) -> Manifest:
        """Return the InferenceCluster; a `block` takes the place of the source's own."""
        block = spec.pop("block", self.block)
        pools = {"nodePools": self.pools} if self.pools else {}
        taint = {"key": "team", "value": "research", "effect": "NoSchedule"}
        fields = {"block": {self.source.lower(): block}, "taints": [taint], **pools, **spec}
        return calls.cluster(self.source, self.name, **fields)


def _pool(name: str, **more: object) -> Manifest:
    return {"name": name, "className": CLASS, "nodeCount": 1, **more}


_SCALED = {"minNodeCount": 1, "maxNodeCount": 4}

CLOUDS = {
    cloud.source: cloud
    for cloud in (
        Cloud(
            "GKE",
            {"region": "us-central1", "kubernetesVersion": "1.35", "credentials": CREDENTIALS},
            [_pool("one", zones=["us-central1-a"], **_SCALED), _pool("two", zones=["us-central1-b"])],
            {"type": "GoogleApplicationCredentials", "name": "peer-gke-identity", "key": "private_key"},
            {"machineType": "e2-standard-4"},
        ),
        Cloud(
            "EKS",
            {"region": "us-west-2", "kubernetesVersion": "1.36", "credentials": CREDENTIALS},
            [
                _pool("one", zones=["us-west-2a", "us-west-2b"], fabric={"type": "None"}, **_SCALED),
                _pool(
                    "two",
                    zones=["us-west-2c"],
                    capacityBlock={"capacityReservationId": "cr-0123456789abcdef0"},
                    fabric={"type": "EFA"},
                ),
            ],
            machine={"instanceType": "m6i.large"},
        ),
        Cloud(
            "AKS",
            {"location": "eastus2", "kubernetesVersion": "1.34", "credentials": CREDENTIALS},
            [_pool("one", **_SCALED), _pool("two", zones=["1", "2"], fabric={"type": "InfiniBand"})],
            machine={"vmSize": "Standard_D4s_v5"},
        ),
        Cloud(
            "Nebius",
            {"kubernetesVersion": "1.34", "credentials": CREDENTIALS},
            [
                _pool("one", **_SCALED),
                _pool("two", fabric={"type": "InfiniBand", "infiniband": {"fabric": "fabric-4"}}),
            ],
            {
                "type": "NebiusServiceAccountCredentials",
                "name": "nebius-credentials",
                "key": "credentials.json",
                "namespace": "nebius-system",
            },
            {"platform": "cpu-d3", "preset": "4vcpu-16gb"},
        ),
        Cloud(
            "Vultr",
            {"region": "ewr", "kubernetesVersion": "v1.36.1+3", "credentials": CREDENTIALS},
            [_pool("one", **_SCALED), _pool("two", zones=["ewr"], fabric={"type": "EFA"})],
            machine={"plan": "vc2-4c-8gb"},
        ),
        Cloud(
            "Existing",
            {
                "secretRef": {"name": "peer-existing-kubeconfig", "key": "kubeconfig"},
                "cache": {"storageClassName": "nfs"},
            },
            [_pool("one", **_SCALED)],
        ),
    )
}


@dataclass(frozen=True)
class State:
    """One request; `required` without a class's key says that it was not asked for yet."""

    composite: Manifest
    observed: dict[str, Manifest] = field(default_factory=dict)
    required: dict[str, list[Manifest]] = field(default_factory=dict)

    def request(self) -> fnv1.RunFunctionRequest:
        """Build the request."""
        return calls.request(self.composite, self.observed, self.required)


FOUND = {f"class-{CLASS}": [INFERENCE_CLASS], "model-replicas": []}
_DESCRIBED: Manifest = {**INFERENCE_CLASS, "spec": {"devices": INFERENCE_CLASS["spec"]["devices"]}}
DESCRIBED = {f"class-{CLASS}": [_DESCRIBED], "model-replicas": []}
IN_USE = {
    **FOUND,
    "model-replicas": [calls.thing(("modelplane.ai/v1alpha1", "ModelReplica"), "chat", spec={})],
}


def states(source: str) -> dict[str, State]:
    """Return the requests of one source by name."""
    cloud = CLOUDS[source]
    composite = cloud.composite()
    every = {
        "classes-unknown": State(composite),
        "new": State(composite, {}, FOUND),
        "installing": State(composite, _observed(cloud), FOUND),
        "ready": State(composite, _observed(cloud, stack_ready=True), FOUND),
        "in-use": State(composite, _observed(cloud, stack_ready=True), IN_USE),
        "class-gone": State(composite, _observed(cloud, stack_ready=True), {f"class-{CLASS}": []}),
        "class-without-block": State(composite, _observed(cloud, stack_ready=True), DESCRIBED),
        "without-pools": State({**composite, "spec": {"cluster": composite["spec"]["cluster"]}}),
    }
    return {**every, **(_existing(cloud) if source == "Existing" else _provisioned(cloud))}


def _provisioned(cloud: Cloud) -> dict[str, State]:
    composite = cloud.composite()
    least = {field: value for field, value in cloud.block.items() if field != "credentials"}
    many = [{**cloud.pools[0], "name": f"p{number}"} for number in range(9)]
    unfit = [{"name": "Not.For-Every.Cloud", "className": CLASS, "nodeCount": 0, "minNodeCount": 0}]
    ready = _observed(cloud, stack_ready=True)
    return {
        "cluster-not-ready": State(composite, {cloud.key: _cluster(cloud, ready=False)}, FOUND),
        "cluster-ready": State(composite, {cloud.key: _cluster(cloud)}, FOUND),
        "cached": State(composite, {**ready, cloud.key: _cluster(cloud, cache=True)}, FOUND),
        "flicker": State(composite, {**ready, cloud.key: _cluster(cloud, ready=False)}, FOUND),
        "without-credentials": State(cloud.composite(block=least), {}, FOUND),
        "too-many-pools": State(cloud.composite(nodePools=many), ready, FOUND),
        "unfit-pool": State(cloud.composite(nodePools=unfit), ready, FOUND),
    }


def _existing(cloud: Cloud) -> dict[str, State]:
    identity = {"name": "identity", "key": "private_key", "type": "AWSWebIdentityCredentials"}
    block = {"secretRef": cloud.block["secretRef"], "identitySecretRef": identity}
    return {"identity": State(cloud.composite(block=block), {}, FOUND)}


def _observed(cloud: Cloud, *, stack_ready: bool = False) -> dict[str, Manifest]:
    """Return all that is composed by the time at which the stack is."""
    address = {"gateway": {"address": "203.0.113.7"}} if stack_ready else {}
    root = {"nvidiaDriverRoot": "/home/kubernetes/bin/nvidia"} if cloud.source == "GKE" else {}
    stack = calls.thing(
        (INFRASTRUCTURE, "ServingStack"),
        child_name(cloud.name, "serving-stack"),
        spec={"secrets": cloud.secrets, **root},
        status={**_conditions(ready=stack_ready), **address},
    )
    config = {
        "apiVersion": "kubernetes.m.crossplane.io/v1alpha1",
        "kind": "ClusterProviderConfig",
        "metadata": {"name": child_name(cloud.name, "cluster-kubeconfig")},
        "spec": {"credentials": {"source": "Secret"}},
    }
    made = {"serving-stack": stack, "cluster-provider-config-kubernetes": config}
    return made if cloud.source == "Existing" else {**made, cloud.key: _cluster(cloud)}


def _cluster(cloud: Cloud, *, ready: bool = True, cache: bool = False) -> Manifest:
    """Return the cluster XR as observed: it publishes its Secrets before it is ready."""
    required = {f: cloud.block[f] for f in ("region", "location") if f in cloud.block}
    pools = [{"name": "system", "role": "System", **cloud.machine}]
    reported = {"cache": {"storageClassName": "modelplane-rwx"}} if cache and cloud.source != "Vultr" else {}
    status = {**_conditions(ready=ready), "secrets": cloud.secrets, **reported}
    return calls.thing(cloud.kind, cloud.name, spec={**required, "nodePools": pools}, status=status)


def _conditions(*, ready: bool) -> Manifest:
    """Return a condition with every field that the API server requires: the peer's models do too."""
    since = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    reason = "Available" if ready else "Creating"
    return {"conditions": [{"type": "Ready", "status": str(ready), "reason": reason, **since}]}

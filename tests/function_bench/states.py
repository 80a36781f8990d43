"""The requests: an InferenceCluster on EKS that is up and in use, at three sizes, as Crossplane sends it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from function.fn import FunctionRunner
from function_bench.shuffling import shuffled
from support.calls import EKS_CLUSTER, OBJECT, STACK, Response, cluster, request, thing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossplane.function.proto.v1 import run_function_pb2 as fnv1

Manifest = dict[str, Any]

# Modelplane's schema ends at so many node pools; beyond, a size has as many replicas as it says.
MOST_POOLS = 8

# These two stand in every request and are replaced, with as many characters, to make it another one: the
# first changes what is observed, the second what is answered too.
VERSION, STORAGE = "version-00000000", "storage-00000000"

# Crossplane begins each request with a hash of its content.
TAG = "hash-00000000".ljust(64, "0")

# Rounds of asking and answering until nothing more is asked for.
_ROUNDS = 5

# Orders of the maps, written beforehand: to write one takes longer than to answer it.
_ORDERS = 61


@dataclass(frozen=True)
class State:
    """The request of one size, serialized, and what is answered to it."""

    size: int
    body: bytes
    answer: Response
    orders: tuple[bytes, ...]  # the same content, its maps in other orders

    def unchanged(self) -> Iterator[bytes]:
        """Yield the same request for ever."""
        while True:
            yield self.body

    def changed(self, start: int = 0) -> Iterator[bytes]:
        """Yield requests of which each differs from all others, in what is observed and what is answered.

        Their maps are in this order and that, as in what Go's protobuf writes.
        """
        number = start
        while True:
            number += 1
            text = f"{number % 10**8:08}".encode()
            body = self.orders[number % _ORDERS].replace(VERSION.encode(), b"version-" + text)
            body = body.replace(STORAGE.encode(), b"storage-" + text)
            yield body.replace(b"hash-00000000", b"hash-" + text)


def state(size: int) -> State:
    """Build the state that the function itself brings about, at one size."""
    composite = _composite(min(size, MOST_POOLS))
    observed: dict[str, Manifest] = {}
    required: dict[str, list[Manifest]] = {}
    for _ in range(_ROUNDS):
        req = request(composite, observed, required)
        answer = Response(asyncio.run(FunctionRunner().RunFunction(req, None)))
        observed = {key: _observed(key, m, size) for key, m in answer.desired.items()}
        composite["status"] = {**answer.status, "conditions": _conditions()}
        required = {name: _found(selector, size) for name, selector in answer.lookups.items()}
    req.meta.tag = TAG
    chance = random.Random(size)  # noqa: S311 -- the same orders in every run
    orders = tuple(shuffled(req, chance) for _ in range(_ORDERS))
    return State(size, req.SerializeToString(deterministic=True), answer, orders)


def _composite(pools: int) -> Manifest:
    names = [f"pool-{n}" for n in range(pools)]
    given = [
        {
            "name": n,
            "className": f"class-{n}",
            "nodeCount": 2,
            "minNodeCount": 1,
            "maxNodeCount": 4,
            "zones": ["us-west-2a"],
        }
        for n in names
    ]
    region = {"region": "us-west-2", "kubernetesVersion": "1.36"}
    body = cluster("EKS", block={"eks": region}, nodePools=given)
    metadata = {**body["metadata"], "resourceVersion": VERSION, "managedFields": _managed(12)}
    return {**body, "metadata": metadata, "status": {"conditions": _conditions()}}


def _eks(size: int) -> Manifest:
    secret = {"type": "Kubeconfig", "name": "demo-kubeconfig", "key": "kubeconfig"}
    status = {"secrets": [secret], "cache": {"storageClassName": STORAGE}, "conditions": _conditions()}
    found = thing(EKS_CLUSTER, "demo", status=status)
    return {**found, "metadata": {**found["metadata"], "managedFields": _managed(4 * min(size, MOST_POOLS))}}


def _observed(key: str, manifest: Manifest, size: int) -> Manifest:
    metadata = {"name": key, "namespace": "modelplane-system", "uid": f"{key}-uid", **manifest["metadata"]}
    if key == "eks-cluster":
        return {**_eks(size), "spec": manifest["spec"]}
    conditions = [*_conditions(), {"type": "DeletionOrdered", "status": "True", "reason": "UsagesComposed"}]
    found = {**manifest, "metadata": {**metadata, "managedFields": _managed(8)}}
    return {**found, "status": {"conditions": conditions}}


def _found(selector: fnv1.ResourceSelector, size: int) -> list[Manifest]:
    """Answer a lookup: a class or a user by its name, `size` replicas and records by their labels."""
    kind = (selector.api_version, selector.kind)
    if selector.kind == "InferenceClass":
        return [_class(kind, selector.match_name)]
    if selector.match_name:
        return [thing(kind, selector.match_name, metadata={"managedFields": _managed(4)})]
    make = _replica if selector.kind == "ModelReplica" else _record
    return [make(kind, number) for number in range(size)]


def _class(kind: tuple[str, str], name: str) -> Manifest:
    device = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 8}
    device |= {"claim": "DRA", "capacity": {"memory": {"value": "80Gi"}}}
    eks = {
        "instanceType": "p5.48xlarge",
        "diskSizeGb": 500,
        "accelerator": {"type": "nvidia-h100", "count": 8},
    }
    spec = {"devices": [device], "provisioning": {"provider": "EKS", "eks": eks}}
    metadata = {"name": name, "managedFields": _managed(14)}
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, "spec": spec}


def _replica(kind: tuple[str, str], number: int) -> Manifest:
    labels = {"modelplane.ai/cluster": "demo", "modelplane.ai/deployment": "llama"}
    metadata = {"labels": labels, "managedFields": _managed(24)}
    container = {"name": "server", "image": "registry.example.org/vllm:v0.9", "args": ["--tp", "8"]}
    spec = {"clusterName": "demo", "template": {"spec": {"containers": [container]}}}
    return thing(kind, f"llama-{number}", metadata=metadata, spec=spec, status={"conditions": _conditions()})


def _record(kind: tuple[str, str], number: int) -> Manifest:
    user = {"apiVersion": OBJECT[0], "kind": OBJECT[1], "name": f"llama-{number}-workload"}
    return thing(kind, f"record-{number}", metadata={"managedFields": _managed(3)}, resourceRef=user)


def _conditions() -> list[Manifest]:
    at = "2026-01-01T00:00:00Z"
    return [
        {"type": kind, "status": "True", "reason": "Available", "lastTransitionTime": at}
        for kind in ("Ready", "Synced", "Responsive")
    ]


def _managed(fields: int) -> list[Manifest]:
    """Return managed fields, which are most of the bytes of a real object and which nobody reads."""
    spec: Manifest = {f"f:field{n}": {".": {}, "f:name": {}, "f:value": {}} for n in range(fields)}
    entry = {"apiVersion": STACK[0], "fieldsType": "FieldsV1", "operation": "Apply", "manager": "crossplane"}
    return [{**entry, "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": spec}}]

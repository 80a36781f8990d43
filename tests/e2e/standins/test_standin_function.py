"""What the stand-ins compose, without a cluster."""

import asyncio
import base64
from typing import Any

import pytest
from crossplane.function import resource
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from e2e.standins import standin_function
from project.schemas import problems, schema_of

EKS = {
    "apiVersion": "infrastructure.modelplane.ai/v1alpha1",
    "kind": "EKSCluster",
    "metadata": {"name": "one", "namespace": "modelplane-system"},
}
REPLICA = {
    "apiVersion": "modelplane.ai/v1alpha1",
    "kind": "ModelReplica",
    "metadata": {"name": "chat", "namespace": "team"},
    "spec": {"clusterName": "one"},
}


def run(req: fnv1.RunFunctionRequest, composite: dict[str, Any]) -> fnv1.RunFunctionResponse:
    """Run the stand-in for one composite."""
    resource.update(req.observed.composite, composite)
    return asyncio.run(standin_function.FunctionRunner(b"config").RunFunction(req, None))


def desired(rsp: fnv1.RunFunctionResponse, key: str) -> dict[str, Any]:
    """Give one composed resource as a dictionary."""
    return dict(resource.struct_to_dict(rsp.desired.resources[key].resource))


@pytest.mark.parametrize("cloud", standin_function.CLOUDS)
def test_cluster_hands_out_its_secrets(cloud: str) -> None:
    """Its status names the Secret that holds the kubeconfig, as Modelplane's schema wants it."""
    rsp = run(fnv1.RunFunctionRequest(), {**EKS, "kind": f"{cloud}Cluster"})
    status = resource.struct_to_dict(rsp.desired.composite.resource)["status"]
    assert problems(status, schema_of(f"{cloud}Cluster")["properties"]["status"]) == []
    entry, *identity = status["secrets"]
    secret = desired(rsp, "kubeconfig")
    assert (secret["metadata"]["name"], entry["type"]) == (entry["name"], "Kubeconfig")
    assert base64.b64decode(secret["data"][entry["key"]]) == b"config"
    assert bool(identity) == (cloud in ("GKE", "Nebius"))


@pytest.mark.parametrize("cloud", standin_function.CLOUDS)
def test_cluster_comes_down_in_order_by_itself(cloud: str) -> None:
    """Its Secret and its ProviderConfig are each kept by its own Object."""
    rsp = run(fnv1.RunFunctionRequest(), {**EKS, "kind": f"{cloud}Cluster"})
    usages = [desired(rsp, key)["spec"] for key in rsp.desired.resources if key.startswith("usage-")]
    marker = desired(rsp, "marker")["metadata"]["name"]
    assert {usage["of"]["kind"] for usage in usages} == {"Secret", "ProviderConfig"}
    assert {usage["by"]["resourceRef"]["name"] for usage in usages} == {marker}


def test_object_is_ready_when_it_says_so() -> None:
    """The EKSCluster is not ready before its Object in the cluster is."""
    req = fnv1.RunFunctionRequest()
    resource.update(req.observed.resources["marker"], {"kind": "Object"})
    assert run(req, EKS).desired.resources["marker"].ready == fnv1.READY_FALSE
    resource.update(
        req.observed.resources["marker"], {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    )
    assert run(req, EKS).desired.resources["marker"].ready == fnv1.READY_TRUE


def test_replica_uses_its_clusters_config_and_keeps_its_object() -> None:
    """The Object comes with the ClusterProviderConfig in the cluster's status, and stays without it."""
    req = fnv1.RunFunctionRequest()
    assert "workload" not in run(req, REPLICA).desired.resources
    cluster = req.required_resources["cluster"].items.add()
    resource.update(cluster, {"status": {"providerConfigRef": {"name": "one-cluster"}}})
    workload = desired(run(req, REPLICA), "workload")
    assert workload["spec"]["providerConfigRef"] == {"kind": "ClusterProviderConfig", "name": "one-cluster"}
    req.ClearField("required_resources")
    resource.update(req.observed.resources["workload"], workload)
    assert desired(run(req, REPLICA), "workload")["spec"] == workload["spec"]

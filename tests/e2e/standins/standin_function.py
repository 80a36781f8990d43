"""Composes what the stand-ins for Modelplane's kinds are made of: no cloud and no Modelplane is needed.

A cluster of any cloud becomes a kubeconfig Secret, a ProviderConfig that reads it and one Object inside the
cluster, each with the root InferenceCluster's label, as the real one's are. A ModelReplica becomes one Object
through the ClusterProviderConfig in its InferenceCluster's status. Serve it like any function:

    STANDIN_KUBECONFIG=FILE python standin_function.py --address 127.0.0.1:9444 --tls-server-certs-dir DIR
"""

import base64
import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from crossplane.function import cli, request, resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

if TYPE_CHECKING:
    import grpc

    Context = grpc.aio.ServicerContext[fnv1.RunFunctionRequest, fnv1.RunFunctionResponse]

KUBERNETES = "kubernetes.m.crossplane.io/v1alpha1"
SYSTEM_NAMESPACE = "modelplane-system"
"""Where the real one's kubeconfig Secrets are; the Object's ConfigMap goes there too."""
KUBECONFIG_KEY = "kubeconfig"
CLUSTER = "cluster"
LOOK_AGAIN = timedelta(seconds=5)
"""A ModelReplica's InferenceCluster is asked for, and what is asked for is not watched."""

Manifest = dict[str, Any]

CLOUDS = ("GKE", "EKS", "AKS", "Nebius", "Vultr")
CLUSTERS = {f"{cloud}Cluster": cloud.lower() for cloud in CLOUDS}
NEBIUS_CREDENTIALS = {
    "type": "NebiusServiceAccountCredentials",
    "name": "nebius-credentials",
    "key": "credentials.json",
    "namespace": "nebius-system",
}
"""What the Nebius provider logs in with: the real NebiusCluster finds it in that provider's configuration."""


class FunctionRunner(grpcv1.FunctionRunnerServiceServicer):
    """Answers the stand-ins' composites; `kubeconfig` is the content that a cluster's Secret gets."""

    def __init__(self, kubeconfig: bytes) -> None:
        """Keep the kubeconfig."""
        self.kubeconfig = base64.b64encode(kubeconfig).decode()

    async def RunFunction(  # noqa: N802  # the name is fixed by the protocol
        self, req: fnv1.RunFunctionRequest, _: "Context | None"
    ) -> fnv1.RunFunctionResponse:
        """Compose for the composite's kind, or say that there is no such stand-in."""
        rsp = response.to(req, ttl=LOOK_AGAIN)
        composite = resource.struct_to_dict(req.observed.composite.resource)
        match composite["kind"]:
            case kind if kind in CLUSTERS:
                compose_cluster(rsp, CLUSTERS[kind], composite["metadata"]["name"], self.kubeconfig)
            case "ModelReplica":
                compose_modelreplica(req, rsp, composite)
            case kind:
                known = ", ".join([*CLUSTERS, "ModelReplica"])
                response.fatal(rsp, f"no stand-in for {kind}; there are those for {known}")
        mark_ready(req, rsp)
        return rsp


def compose_cluster(rsp: fnv1.RunFunctionResponse, cloud: str, name: str, kubeconfig: str) -> None:
    """Compose Secret, ProviderConfig and Object, and keep the first two until the Object is gone.

    The Usages stay inside the cluster XR: deleted by itself it comes down in order.
    """
    secret = {"type": "Kubeconfig", "name": f"{name}-kubeconfig", "key": KUBECONFIG_KEY}
    config, marker = f"{name}-{cloud}", f"{name}-marker"
    manifests = {
        "kubeconfig": manifest("v1", "Secret", secret["name"], data={KUBECONFIG_KEY: kubeconfig}),
        "provider-config": manifest(
            KUBERNETES, "ProviderConfig", config, spec={"credentials": credentials(secret)}
        ),
        "marker": object_of(marker, {"kind": "ProviderConfig", "name": config}, SYSTEM_NAMESPACE),
        "usage-kubeconfig-by-marker": usage("v1", "Secret", secret["name"], marker),
        "usage-provider-config-by-marker": usage(KUBERNETES, "ProviderConfig", config, marker),
    }
    for key, body in manifests.items():
        resource.update(rsp.desired.resources[key], body)
    identity = compose_identity(rsp, cloud, name)
    resource.update(rsp.desired.composite, {"status": {"secrets": [secret, *identity]}})


def compose_identity(rsp: fnv1.RunFunctionResponse, cloud: str, name: str) -> list[dict[str, str]]:
    """Give what a cloud's kubeconfig needs beside it; GKE's service account key is composed, too."""
    if cloud == "nebius":
        return [NEBIUS_CREDENTIALS]
    if cloud != "gke":
        return []
    key = {"type": "GoogleApplicationCredentials", "name": f"{name}-identity", "key": "private_key"}
    data = {key["key"]: base64.b64encode(b"{}").decode()}
    resource.update(rsp.desired.resources["identity"], manifest("v1", "Secret", key["name"], data=data))
    return [key]


def compose_modelreplica(
    req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, replica: Manifest
) -> None:
    """Compose the replica's Object once its cluster says how it is reached; never take it away again."""
    response.require_resources(
        rsp, CLUSTER, "modelplane.ai/v1alpha1", "InferenceCluster", match_name=replica["spec"]["clusterName"]
    )
    cluster = request.get_required_resource(req, CLUSTER) or {}
    config = cluster.get("status", {}).get("providerConfigRef", {}).get("name")
    meta = replica["metadata"]
    if config:
        body = object_of(meta["name"], {"kind": "ClusterProviderConfig", "name": config}, meta["namespace"])
    elif "workload" in req.observed.resources:
        observed = resource.struct_to_dict(req.observed.resources["workload"].resource)
        body = manifest(KUBERNETES, "Object", meta["name"], spec=observed["spec"])
    else:
        response.normal(rsp, f"waiting for InferenceCluster {replica['spec']['clusterName']}")
        return
    resource.update(rsp.desired.resources["workload"], body)


def mark_ready(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse) -> None:
    """Call an Object ready when its own condition says so, and anything else once it is there."""
    for key, desired in rsp.desired.resources.items():
        observed = req.observed.resources.get(key)
        if desired.resource["kind"] == "Object":
            ready = resource.get_condition(observed, "Ready").status == "True"
        else:
            ready = observed is not None
        desired.ready = fnv1.READY_TRUE if ready else fnv1.READY_FALSE


def manifest(api_version: str, kind: str, name: str, **content: object) -> Manifest:
    """Give a named manifest; a composed resource lands in its composite's namespace."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **content}


def object_of(name: str, config: dict[str, str], namespace: str) -> Manifest:
    """Give an Object that holds a ConfigMap of the same name in `namespace` of the cluster."""
    configmap = manifest("v1", "ConfigMap", name, data={"stands": "in"})
    configmap["metadata"]["namespace"] = namespace
    # Without the watch a deleting Object is looked at with a back-off of up to a minute.
    spec = {"providerConfigRef": config, "watch": True, "forProvider": {"manifest": configmap}}
    return manifest(KUBERNETES, "Object", name, spec=spec)


def credentials(secret: dict[str, str]) -> Manifest:
    """Give a ProviderConfig's credentials that read the kubeconfig Secret."""
    ref = {"namespace": SYSTEM_NAMESPACE, "name": secret["name"], "key": secret["key"]}
    return {"source": "Secret", "secretRef": ref}


def usage(api_version: str, kind: str, name: str, by: str) -> Manifest:
    """Give a Usage that keeps `kind` `name` until the Object `by` is gone."""
    spec = {
        "of": {"apiVersion": api_version, "kind": kind, "resourceRef": {"name": name}},
        "by": {"apiVersion": KUBERNETES, "kind": "Object", "resourceRef": {"name": by}},
        "replayDeletion": True,
    }
    return {"apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "spec": spec}


@click.command()
@cli.standard_options
def main(**options: Any) -> None:  # noqa: ANN401  # click hands over what the SDK's options declare
    """Serve the stand-ins; STANDIN_KUBECONFIG names the kubeconfig file that clusters hand out."""
    path = os.environ.get("STANDIN_KUBECONFIG")
    if not path:
        raise click.UsageError("set STANDIN_KUBECONFIG to the kubeconfig file that clusters hand out")
    cli.run(FunctionRunner(Path(path).read_bytes()), **options)


if __name__ == "__main__":
    main()

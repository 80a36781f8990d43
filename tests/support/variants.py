"""The same function without one row of its table, and other faults made on purpose.

Served as a function of its own; the input of the Composition's step says what to leave out:

    drop: [REGULAR EXPRESSION, ...]     composed resources whose key matches are taken out of the answer
    stack: NAME                         the Composition that the ServingStack is to use
    deadlock: true                      a Usage of the cluster XR by an Object that the cluster XR composes
    peer: true                          what Modelplane's function answers: see `support.peer`
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from crossplane.function import cli, resource
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import structs
from function.fn import FunctionRunner
from support import peer
from support.calls import observed_metadata

if TYPE_CHECKING:
    import grpc

    from controlplane.plane import Plane

Manifest = dict[str, Any]

# What each variant leaves out, by the row of `function.order.TABLE` that it lacks.
ROWS = {
    "cluster-until-stack": "usage-eks-by-backend",
    "cluster-until-leaf": "usage-cluster-by-.*",
    "provider-config-until-leaf": "usage-pc-.*",
    "secret-until-leaf": "usage-secret-.*",
    "stack-until-service": "usage-stack-by-service.*",
    # The stack is held by the service and holds the cluster and the Secret: without it in between they show.
    "cluster-until-service": "usage-(cluster|stack)-by-service.*",
    "provider-config-until-service": "usage-pc-service.*",
    "secret-until-service": "usage-(secret-.*|stack)-by-service.*",
    "component-until-component": "usage-controller-by-gateway",
    "inference-cluster-until-user": "usage-replicas",
}
NAIVE = "usage-(cluster|pc|secret|controller)-.*"


class Variant(FunctionRunner):
    """Answers as the function does, less what the input says."""

    async def RunFunction(  # noqa: N802 -- the name of the RPC
        self,
        req: fnv1.RunFunctionRequest,
        context: grpc.aio.ServicerContext[fnv1.RunFunctionRequest, fnv1.RunFunctionResponse] | None,
    ) -> fnv1.RunFunctionResponse:
        """Run the function, then take out and put in."""
        given = structs.plain_block(req.input)
        if given.get("peer"):
            return peer.answer(req)
        rsp = await super().RunFunction(req, context)
        while _pretend(req, rsp, given.get("drop", [])):
            rsp = await super().RunFunction(req, context)
        for key in list(rsp.desired.resources):
            if any(re.fullmatch(pattern, key) for pattern in given.get("drop", [])):
                del rsp.desired.resources[key]
        if "serving-stack" in rsp.desired.resources and "stack" in given:
            ref = {"spec": {"crossplane": {"compositionRef": {"name": given["stack"]}}}}
            _merge(rsp.desired.resources["serving-stack"], ref)
        if given.get("deadlock") and "eks-cluster" in req.observed.resources:
            name = structs.text(req.observed.composite.resource, "metadata", "name")
            resource.update(rsp.desired.resources["usage-deadlock"], _deadlock(name))
            rsp.desired.resources["usage-deadlock"].ready = fnv1.READY_TRUE
        return rsp


def _pretend(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, drop: list[str]) -> bool:
    """Observe what is to be dropped as if it were there: what it protects would not be used otherwise."""
    more = False
    for key, found in rsp.desired.resources.items():
        if key not in req.observed.resources and any(re.fullmatch(pattern, key) for pattern in drop):
            body = structs.plain_block(found.resource)
            body["metadata"] = observed_metadata(body, name=key)
            structs.write(req.observed.resources[key].resource, body)
            _label(req, body["spec"]["of"])
            more = True
    return more


def _label(req: fnv1.RunFunctionRequest, of: Manifest) -> None:
    """Mark what a Usage protects as Crossplane does."""
    name = of.get("resourceRef", {}).get("name")
    for found in req.observed.resources.values():
        body = structs.plain_block(found.resource)
        if body["kind"] == of["kind"] and name in (None, body["metadata"]["name"]):
            body["metadata"].setdefault("labels", {})["crossplane.io/in-use"] = "true"
            found.resource.Clear()
            structs.write(found.resource, body)


def _merge(target: fnv1.Resource, more: Manifest) -> None:
    body = structs.plain_block(target.resource)
    body["spec"] = {**body["spec"], **more["spec"]}
    target.resource.Clear()
    structs.write(target.resource, body)


def _deadlock(name: str) -> Manifest:
    """Return a Usage of the EKSCluster by the Object inside the cluster that the EKSCluster composes."""
    cluster = {"apiVersion": "infrastructure.modelplane.ai/v1alpha1", "kind": "EKSCluster"}
    marker = {"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object"}
    spec = {
        "of": {**cluster, "resourceRef": {"name": name}},
        "by": {**marker, "resourceRef": {"name": f"{name}-marker"}},
        "replayDeletion": True,
    }
    metadata = {"namespace": "modelplane-system"}
    return {
        "apiVersion": "protection.crossplane.io/v1beta1",
        "kind": "Usage",
        "metadata": metadata,
        "spec": spec,
    }


def install(plane: Plane, settings: Manifest) -> None:
    """Install the Compositions of all variants, for spec.crossplane.compositionRef to name."""
    if checkout := os.environ.get("PEER"):
        with peer.asking(Path(checkout)):  # fetches its packages: there is no network inside a plane
            pass
    for name, pattern in {**ROWS, "naive": NAIVE}.items():
        _compose(plane, name, settings, {"drop": [pattern]})
    _compose(plane, "deadlock", settings, {"deadlock": True})
    _compose(plane, "peer", settings, {"peer": True})
    consumers = [{"apiVersion": "modelplane.ai/v1alpha1", "kind": "ModelReplica"}]
    given = {"apiVersion": settings["apiVersion"], "kind": "Settings", "consumers": consumers}
    function = "function-inference-cluster"
    plane.api.apply(
        composition("with-modelplane", "modelplane.ai/v1alpha1", "InferenceCluster", given, function)
    )


def _compose(plane: Plane, name: str, settings: Manifest, fault: Manifest) -> None:
    stack = f"variant-{name}-stack"
    consumers = [{"apiVersion": "modelplane.ai/v1alpha1", "kind": "ModelReplica"}]
    head = {"apiVersion": settings["apiVersion"], "kind": "Settings"}
    top = {**head, "consumers": consumers, "stack": stack, **fault}
    plane.api.apply(composition(f"variant-{name}", "modelplane.ai/v1alpha1", "InferenceCluster", top))
    inner = {**settings, "drop": fault.get("drop", [])}
    api_version = "infrastructure.modelplane.ai/v1alpha1"
    plane.api.apply(composition(stack, api_version, "ServingStack", inner))


def composition(
    name: str, api_version: str, kind: str, given: Manifest, function: str = "function-variant"
) -> Manifest:
    """Return a Composition of one step."""
    step = {"step": "compose", "functionRef": {"name": function}, "input": given}
    spec = {
        "compositeTypeRef": {"apiVersion": api_version, "kind": kind},
        "mode": "Pipeline",
        "pipeline": [step],
    }
    head = {"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition"}
    return {**head, "metadata": {"name": name}, "spec": spec}


@click.command()
@cli.standard_options
def main(**options: Any) -> None:  # noqa: ANN401 -- handed to the SDK as they are
    """Serve the variants."""
    cli.run(Variant(), **options)


if __name__ == "__main__":
    main()

"""A composition function that composes what the Composition's input lists, with the composite's `{name}`."""

from __future__ import annotations

import json
from typing import Any

import click
from crossplane.function import cli, resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Runner(grpcv1.FunctionRunnerServiceServicer):
    """Composes the input's `resources`; each is ready when it is there and does not say otherwise."""

    async def RunFunction(  # noqa: N802 -- the name of the RPC
        self, req: fnv1.RunFunctionRequest, _: object
    ) -> fnv1.RunFunctionResponse:
        """Answer with the listed resources."""
        rsp = response.to(req)
        name = resource.struct_to_dict(req.observed.composite.resource)["metadata"]["name"]
        template = json.dumps(resource.struct_to_dict(req.input).get("resources", []))
        for number, manifest in enumerate(json.loads(template.replace("{name}", name))):
            desired = rsp.desired.resources[str(number)]
            resource.update(desired, manifest)
            if _stands(req.observed.resources.get(str(number))):
                desired.ready = fnv1.READY_TRUE
        return rsp


def _stands(observed: fnv1.Resource | None) -> bool:
    """Say whether a composed resource is there and, unless it is of the core group, has become Ready."""
    if observed is None:
        return False
    found = resource.struct_to_dict(observed.resource)
    conditions = found.get("status", {}).get("conditions", [])
    return found["apiVersion"] == "v1" or ("Ready", "True") in {(c["type"], c["status"]) for c in conditions}


@click.command()
@cli.standard_options
def main(**options: Any) -> None:  # noqa: ANN401 -- handed to the SDK as they are
    """Serve the function until stopped."""
    cli.run(Runner(), **options)


if __name__ == "__main__":
    main()

"""Serves the function together with the part of function-patch-and-transform that an example uses.

A step whose input is of kind Resources composes its bases, with fields of the composite copied in and
readiness taken from what is observed; any other step is this function's own:

    python -m support.patching --insecure --address 127.0.0.1:9443
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from crossplane.function import cli, resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import structs
from function.fn import FunctionRunner

if TYPE_CHECKING:
    import grpc

Manifest = dict[str, Any]


class Patching(FunctionRunner):
    """Answers as both functions do."""

    async def RunFunction(  # noqa: N802 -- the name of the RPC
        self,
        req: fnv1.RunFunctionRequest,
        context: grpc.aio.ServicerContext[fnv1.RunFunctionRequest, fnv1.RunFunctionResponse] | None,
    ) -> fnv1.RunFunctionResponse:
        """Compose what the input lists, or run the function."""
        if structs.text(req.input, "kind") != "Resources":
            return await super().RunFunction(req, context)
        rsp = response.to(req)
        composite = structs.plain_block(req.observed.composite.resource)
        for entry in structs.plain_block(req.input)["resources"]:
            target = rsp.desired.resources[entry["name"]]
            target.Clear()
            structs.write(target.resource, _patched(entry, composite))
            observed = req.observed.resources.get(entry["name"])
            if "readinessChecks" in entry or resource.get_condition(observed, "Ready").status == "True":
                target.ready = fnv1.READY_TRUE
        return rsp


def _patched(entry: Manifest, composite: Manifest) -> Manifest:
    body: Manifest = entry["base"]
    for patch in entry.get("patches", []):
        value: Any = composite
        for step in patch["fromFieldPath"].split("."):
            value = value[step]
        *blocks, last = patch["toFieldPath"].split(".")
        at = body
        for step in blocks:
            at = at.setdefault(step, {})
        at[last] = value
    return body


@click.command()
@cli.standard_options
def main(**options: Any) -> None:  # noqa: ANN401 -- handed to the SDK as they are
    """Serve both functions."""
    cli.run(Patching(), **options)


if __name__ == "__main__":
    main()

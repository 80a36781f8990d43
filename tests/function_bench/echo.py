"""The floor: the SDK's own way to answer a request with nothing done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from crossplane.function import cli, response
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

if TYPE_CHECKING:
    import grpc
    from crossplane.function.proto.v1 import run_function_pb2 as fnv1


class Echo(grpcv1.FunctionRunnerServiceServicer):
    """Answers with what earlier steps desire."""

    async def RunFunction(  # noqa: N802 -- the name of the RPC
        self,
        req: fnv1.RunFunctionRequest,
        _: grpc.aio.ServicerContext[fnv1.RunFunctionRequest, fnv1.RunFunctionResponse],
    ) -> fnv1.RunFunctionResponse:
        """Answer."""
        return response.to(req)


@click.command()
@cli.standard_options
def main(**options: Any) -> None:  # noqa: ANN401 -- handed to the SDK as they are
    """Serve the echo."""
    cli.run(Echo(), **options)


if __name__ == "__main__":
    main()

"""The composition function: one request in, one response out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from crossplane.function import logging
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

from function import cluster, late, observed, respond, settings, stack, structs, wire
from function.model import INFRASTRUCTURE, MODELPLANE, SpecError
from function.stack import spec as stack_spec

if TYPE_CHECKING:
    from collections.abc import Callable

    import grpc

    from function.model import Plan
    from function.settings import Settings
    from function.wire import Request


def _now() -> datetime:
    return datetime.now(UTC)


class Answer(NamedTuple):
    """A serialized RunFunctionResponse, and whether it refuses what was asked for."""

    raw: bytes
    refused: bool


class FunctionRunner(grpcv1.FunctionRunnerServiceServicer):
    """Answers RunFunctionRequests: composes InferenceClusters and ServingStacks, adds Usages to any other."""

    def __init__(self, clock: Callable[[], datetime] = _now) -> None:
        """Create a runner; it keeps no state between requests. `clock` tells the time, with its zone."""
        self.log = logging.get_logger()
        self._clock = clock

    async def RunFunction(  # noqa: N802 -- the name of the RPC
        self,
        req: fnv1.RunFunctionRequest,
        _: grpc.aio.ServicerContext[fnv1.RunFunctionRequest, fnv1.RunFunctionResponse] | None,
    ) -> fnv1.RunFunctionResponse:
        """Answer a request that the SDK has parsed."""
        answer = self.answer(wire.request(req.SerializeToString()))
        return fnv1.RunFunctionResponse.FromString(answer.raw)

    def answer(self, req: Request) -> Answer:
        """Compose what the request's composite asks for, or say in one fatal result why that cannot be."""
        try:
            plan = _plan(req, self._clock())
        except SpecError as error:
            self.log.info("refused", tag=req.meta.tag, error=str(error))
            return Answer(respond.refuse(req, f"{error}. Nothing was changed."), refused=True)
        return Answer(respond.write(req, plan), refused=False)


def timeless(req: Request, answer: Answer) -> bool:
    """Whether the same request would get this answer at any time: nothing but a staged teardown has a clock.

    A refusal counts as none: it is logged each time.
    """
    composite = req.observed.composite.resource
    staged = structs.text(composite, "spec", "deletion", "mode") == "Staged"
    return not (staged or answer.refused or structs.get(composite, "status", "teardown") is not None)


def _plan(req: Request, now: datetime) -> Plan:
    composite = req.observed.composite.resource
    given = settings.parse(req.input)
    kind = (structs.text(composite, "apiVersion"), structs.text(composite, "kind"))
    if given.edges is None:
        match kind:
            case (api, "InferenceCluster") if api == MODELPLANE:
                return cluster.compose(composite, observed.read(req), given, now)
            case (api, "ServingStack") if api == INFRASTRUCTURE:
                return stack.plan(stack_spec.parse(composite), observed.read(req), given)
    return _late_plan(req, given, *kind)


# Another version of these is not a composite of somebody else's: to pass on an empty desired state would
# delete everything that an earlier version of it composed.
_OURS = {"InferenceCluster": MODELPLANE, "ServingStack": INFRASTRUCTURE}


def _late_plan(req: Request, given: Settings, api_version: str, kind: str) -> Plan:
    """Plan for a composite of any other kind, or as a late step of one of ours."""
    if not kind or not api_version:
        raise SpecError(f"the composite has no {'apiVersion' if kind else 'kind'}")
    ours = _OURS.get(kind, "")
    found, desired = observed.read(req), observed.desired(req)
    if _group(api_version) == _group(ours):
        if api_version != ours:
            raise SpecError(f"{kind} {api_version} is not known; this function composes {ours}")
        late.require_earlier_steps(desired, found, kind)
    return late.plan(desired, found, given)


def _group(api_version: str) -> str:
    return api_version.partition("/")[0]

"""Writes a plan to the response; nothing else does."""

from __future__ import annotations

import functools
import marshal
from typing import TYPE_CHECKING

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf import struct_pb2

from function import structs
from function.memo import Memo
from function.model import Guard, ProviderConfig, ServingStack, Severity, Usage
from function.resources import render

if TYPE_CHECKING:
    from function.model import Condition, Content, Lookup, Plan
    from function.resources import Manifest
    from function.wire import Request

_SEVERITIES = {
    Severity.NORMAL: fnv1.SEVERITY_NORMAL,
    Severity.WARNING: fnv1.SEVERITY_WARNING,
    Severity.FATAL: fnv1.SEVERITY_FATAL,
}


# Contents that are compared by all that they say; of others the rendered manifest is.
_ALIKE = (Guard, ProviderConfig, ServingStack, Usage)

# Parts of answers that are kept, and the longest that is: together at most 16 MiB.
_MOST_KEPT, _LONGEST_KEPT = 1024, 16 * 1024
_written: Memo[tuple[str, bool, object], bytes] = Memo(_MOST_KEPT)

# The version of the marshal format in which equal values have equal bytes, and unequal ones never.
_WITHOUT_REFERENCES = 2


def write(req: Request, plan: Plan) -> bytes:
    """Return the serialized answer: what earlier steps desire, and everything that the plan says.

    Serialized messages that stand one after the other are one message, by protobuf's own rules: blocks are
    merged, and of two entries of a map with one key the later counts. So each composed resource and each
    lookup is serialized once, as a message that has nothing else, and kept.
    """
    rsp = _start(req)
    rsp.meta.ttl.seconds = plan.ttl_seconds
    if plan.status:
        into = rsp.desired.composite.resource.fields["status"].struct_value
        structs.write_shared(into, plan.status)
    if not plan.complete:
        rsp.desired.composite.ready = fnv1.READY_FALSE
    for condition in plan.conditions.values():
        _conclude(rsp.conditions.add(), condition)
    for result in plan.results:
        rsp.results.add(severity=_SEVERITIES[result.severity], message=result.message)
    steps = b"".join([_step(key, step.content, ready=step.ready) for key, step in plan.steps.items()])
    lookups = b"".join([_asked(name, lookup) for name, lookup in plan.lookups.items()])
    if not plan.stamps:
        return rsp.SerializeToString() + steps + lookups
    rsp.MergeFromString(steps)
    for key, labels in plan.stamps.items():
        structs.write(rsp.desired.resources[key].resource, {"metadata": {"labels": labels}})
    return rsp.SerializeToString() + lookups


def refuse(req: Request, message: str) -> bytes:
    """Answer with one fatal result: Crossplane then keeps everything that exists as it is."""
    rsp = _start(req)
    rsp.meta.ttl.seconds = 60
    rsp.results.add(severity=fnv1.SEVERITY_FATAL, message=message)
    return rsp.SerializeToString()


def _start(req: Request) -> fnv1.RunFunctionResponse:
    """Answer with what earlier steps of the pipeline desire, unchanged."""
    rsp = fnv1.RunFunctionResponse(desired=_NOTHING, context=_NO_CONTEXT)
    rsp.meta.tag = req.meta.tag
    if req.desired:
        rsp.desired.MergeFromString(req.desired)
    if req.context:
        rsp.context.MergeFromString(req.context)
    return rsp


_NOTHING, _NO_CONTEXT = fnv1.State(), struct_pb2.Struct()


def _step(key: str, content: Content, *, ready: bool) -> bytes:
    """Return an answer that has one composed resource and nothing else."""
    known: tuple[str, bool, object] = (key, ready, content)
    manifest = None
    if not isinstance(content, _ALIKE):
        manifest = render(content)
        known = (key, ready, marshal.dumps(manifest, _WITHOUT_REFERENCES))
    found = _written.get(known)
    if found is None:
        found = _serialized(key, manifest or render(content), ready=ready)
        if len(found) <= _LONGEST_KEPT:
            _written.put(known, found)
    return found


def _serialized(key: str, manifest: Manifest, *, ready: bool) -> bytes:
    rsp = fnv1.RunFunctionResponse()
    target = rsp.desired.resources[key]
    structs.write(target.resource, manifest)
    if ready:
        target.ready = fnv1.READY_TRUE
    return rsp.SerializeToString()


def _conclude(written: fnv1.Condition, condition: Condition) -> None:
    written.type = condition.kind
    written.status = fnv1.STATUS_CONDITION_TRUE if condition.status else fnv1.STATUS_CONDITION_FALSE
    written.reason = condition.reason
    if condition.message:
        written.message = condition.message


@functools.lru_cache(maxsize=_MOST_KEPT)
def _asked(name: str, lookup: Lookup) -> bytes:
    """Return an answer that has one lookup and nothing else."""
    rsp = fnv1.RunFunctionResponse()
    selector = rsp.requirements.resources[name]
    selector.api_version = lookup.api_version
    selector.kind = lookup.kind
    if lookup.name:
        selector.match_name = lookup.name
    else:
        selector.match_labels.labels.update(lookup.labels)
    if lookup.namespace:
        selector.namespace = lookup.namespace
    return rsp.SerializeToString()

"""Keeps what may not leave desired yet, although no step desires it any more.

A Usage stays until its user is really gone, whatever became of the user in desired. A resource that a Usage
protects stays until that Usage is gone: its delete would be refused, and the refusal stalls the composite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import structs
from function.late import configs
from function.late.edges import usage_key
from function.model import USAGE_CONSUMER_LABEL, Carried, Severity, Step, Usage
from function.retire import LOOK_AGAIN_SECONDS, retire_usage, without_replay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from function.late.pairs import Pipeline
    from function.model import Ref
    from function.observed import Resource
    from function.settings import Pair


def keep(pipeline: Pipeline, pairs: Iterable[Pair]) -> None:
    """Plan again what is observed, desired by nobody, and still needed."""
    named = {usage_key(pair) for pair in pairs}
    ours = {key: r for key, r in pipeline.observed.resources.items() if _is_ours(r)}
    for key, usage in sorted(ours.items()):
        if key in pipeline.desired or key in pipeline.made.steps:
            continue
        if not key.startswith(configs.KEY) and key not in named:
            without_replay(pipeline.made, key, usage)  # the user took the pair out of the input
        else:
            retire_usage(pipeline.made, pipeline.observed, key, usage)
    _keep_protected(pipeline, ours)


def kept(pipeline: Pipeline) -> dict[str, Resource]:
    """Return, by key, the resources that are planned again as they are observed."""
    found = ((key, pipeline.observed.get(key)) for key in pipeline.made.steps)
    return {key: resource for key, resource in found if resource is not None and not resource.is_usage}


def _is_ours(resource: Resource) -> bool:
    """Whether this function composed a Usage, or Modelplane's compose-usages did before it."""
    return resource.is_usage and (resource.composed_here or bool(_consumer(resource)))


def _consumer(usage: Resource) -> str:
    labels = ("spec", "by", "resourceSelector", "matchLabels", USAGE_CONSUMER_LABEL)
    return structs.text(usage.body, *labels)


def _keep_protected(pipeline: Pipeline, ours: dict[str, Resource]) -> None:
    held: dict[Ref, set[str]] = {}
    for key, usage in ours.items():
        if (ref := usage.usage_end("of")) is not None:
            held.setdefault(ref, set()).add(key)
    for key, step in pipeline.made.steps.items():
        if isinstance(step.content, Usage):
            held.setdefault(step.content.edge.protected, set()).add(key)
    for key, resource in sorted(pipeline.observed.resources.items()):
        if key in pipeline.desired or key in pipeline.made.steps or resource.is_usage:
            continue
        if (holders := held.get(resource.ref)) is not None:
            _carry(pipeline, key, resource, holders)


def _carry(pipeline: Pipeline, key: str, resource: Resource, holders: set[str]) -> None:
    made = pipeline.made
    made.add(Step(key, Carried(resource.body), ready=resource.ready))
    made.ttl_seconds = min(made.ttl_seconds, LOOK_AGAIN_SECONDS)
    named = ", ".join(sorted(holders))
    made.say(Severity.WARNING, f"{resource.ref} is no longer wanted but kept: {named} still protects it")

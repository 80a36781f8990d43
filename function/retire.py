"""Decides when something that is no longer planned may leave desired.

Crossplane forgets a composed resource the moment it leaves desired, and a Usage that leaves desired lets go
at once, user or no user. So a Usage stays until its user is really gone, which only a lookup by name can
tell, and a resource that a Usage still protects stays until that Usage is gone: its delete would be refused,
and the refusal silently stalls the whole composite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import structs
from function.model import Carried, Lookup, Severity, Step

if TYPE_CHECKING:
    from function.model import Plan, Ref
    from function.observed import Observed, Resource

# A Usage is written so for one pass before it goes: otherwise a delete that was refused last month, and is
# recorded on the protected object, would be carried out now.
_NO_REPLAY = {"spec": {"replayDeletion": False}}

# How soon Crossplane looks again while a lookup decides: it does not watch required resources.
LOOK_AGAIN_SECONDS = 10


def retire(plan: Plan, observed: Observed) -> None:
    """Add to the plan what is not planned any more but must stay a while."""
    for key, resource in observed.resources.items():
        if key in plan.steps or not resource.composed_here:
            continue
        if resource.is_usage:
            retire_usage(plan, observed, key, resource)
        else:
            _retire_resource(plan, observed, key, resource)


def retire_usage(plan: Plan, observed: Observed, key: str, usage: Resource) -> None:
    """Keep a Usage that is not planned any more for as long as its user may exist."""
    user = usage.usage_end("by")
    if user is None:  # a guard, or a selector that never found its user: it holds for nobody
        return
    if not _is_gone(plan, observed, key, user):
        plan.add(Step(key, Carried(usage.body), ready=True))
    else:
        without_replay(plan, key, usage)


def without_replay(plan: Plan, key: str, usage: Resource) -> None:
    """Plan a Usage that ends for one last pass, in which it stops replaying what it refused."""
    if structs.plain(structs.get(usage.body, "spec", "replayDeletion")) is True:
        plan.add(Step(key, Carried(usage.body, _NO_REPLAY), ready=True))


def _is_gone(plan: Plan, observed: Observed, key: str, user: Ref) -> bool:
    name = f"user-of-{key}"
    plan.lookups[name] = Lookup(user.api_version, user.kind, name=user.name, namespace=user.namespace)
    plan.ttl_seconds = min(plan.ttl_seconds, LOOK_AGAIN_SECONDS)
    return observed.asked(name) and not observed.found(name)


def holders(observed: Observed, ref: Ref) -> list[str]:
    """Return the keys of the composed Usages that protect an object."""
    return [k for k, r in observed.resources.items() if r.is_usage and r.usage_end("of") == ref]


def protected(observed: Observed, ref: Ref) -> bool:
    """Whether a composed Usage still protects an object."""
    return bool(holders(observed, ref))


def _retire_resource(plan: Plan, observed: Observed, key: str, resource: Resource) -> None:
    held_by = holders(observed, resource.ref)
    if not held_by:
        return
    plan.add(Step(key, Carried(resource.body), ready=resource.ready))
    plan.ttl_seconds = min(plan.ttl_seconds, LOOK_AGAIN_SECONDS)
    plan.say(
        Severity.WARNING,
        f"{resource.ref} is no longer wanted but kept: {', '.join(sorted(held_by))} still protects it",
    )


def keep(plan: Plan, observed: Observed, key: str, *, ready: bool | None = None) -> bool:
    """Plan `key` again as it is observed; return whether there was anything to keep.

    For what cannot be rendered in this pass: a condition flickered, or an input has not been fetched.
    """
    found = observed.get(key)
    if found is None:
        return False
    plan.add(Step(key, Carried(found.body), ready=found.ready if ready is None else ready))
    return True

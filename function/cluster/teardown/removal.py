"""The stages that drop what is composed: services, then the ServingStack, then the cluster.

A resource leaves desired only in a pass in which the gate already names it, as observed, and no Usage of it
is observed. Then it is asked for by name until it is really gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from function import names, remembering, structs
from function.cluster import guard, leaves
from function.cluster.teardown.request import Stage, stage_of
from function.model import Carried, Step
from function.retire import protected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from function.cluster.teardown.request import Request
    from function.model import Plan, Ref
    from function.observed import Observed, Resource

GATE = "usage-staged-teardown"


@dataclass(slots=True)
class Left:
    """What is left of the stages reached: seen or not yet answered for, and whether a Usage stands too."""

    there: dict[Ref, Resource] = field(default_factory=dict)
    unknown: set[Ref] = field(default_factory=set)
    unanswered: bool = False

    @property
    def refs(self) -> list[Ref]:
        """What the gate has to remember, sorted."""
        return sorted({*self.there, *self.unknown}, key=str)

    @property
    def empty(self) -> bool:
        """Whether everything is really gone."""
        return not self.there and not self.unknown and not self.unanswered


def remove(made: Plan, request: Request, observed: Observed, stage: Stage) -> Left:
    """Plan again what may not go yet, leave out what may, and say what is left."""
    named = remembering.decode(remembering.written(observed.get(GATE)))
    left = Left()
    for key, resource in ours(observed):
        due = stage.reached(stage_of(key))
        if due:
            left.there[resource.ref] = resource
        if not due or resource.ref not in named or protected(observed, resource.ref):
            made.add(Step(key, Carried(resource.body), ready=resource.ready))
    asked = remembering.ask(made, observed, "teardown", (ref for ref in named if ref not in left.there))
    left.there |= asked.there
    left.unknown |= asked.unknown
    if stage.reached(Stage.REMOVING_SERVING_STACK):
        _leaves(made, request.name, observed, left)
    if stage.reached(Stage.REMOVING_CLUSTER) and any(_usages(observed)):
        left.unanswered = True  # they leave one pass after what they stood for
    return left


def ours(observed: Observed) -> Iterable[tuple[str, Resource]]:
    """Yield what this function composed and what may be dropped: everything but the Usages."""
    return ((k, r) for k, r in observed.resources.items() if r.composed_here and not r.is_usage)


def _usages(observed: Observed) -> Iterable[str]:
    guards = (GATE, guard.GUARD)
    return (k for k, r in observed.resources.items() if r.is_usage and r.composed_here and k not in guards)


def _leaves(made: Plan, cluster: str, observed: Observed, left: Left) -> None:
    """Look for what the ServingStack composed: it may be gone while its leaves still finalize."""
    config = names.stack_provider_config(names.serving_stack(cluster))
    labelled, answered = leaves.ask(made, cluster, observed)
    left.unanswered |= not answered
    for _, leaf in labelled:
        if structs.text(leaf.body, "spec", "providerConfigRef", "name") == config:
            left.there[leaf.ref] = leaf

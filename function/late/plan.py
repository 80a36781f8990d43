"""The plan of a late step: which Usages to add to what the earlier steps desire.

Scope is read from observed objects, so a pair gets its Usage once both are there, never a guess before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.late import configs, edges, keeping
from function.late.pairs import Pipeline
from function.model import Plan, SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.observed import Observed, Resource
    from function.settings import Settings


def plan(desired: Mapping[str, Resource], observed: Observed, settings: Settings) -> Plan:
    """Plan the Usages of one composite; `desired` is what earlier steps made, by key.

    The result depends on what is given only, never on the order in which it is given.
    """
    pairs = settings.edges or ()
    pipeline = Pipeline(Plan(), desired, observed)
    configs.note(pipeline)
    configs.hold(pipeline, desired)
    edges.hold(pipeline, pairs)
    keeping.keep(pipeline, pairs)
    if kept := keeping.kept(pipeline):  # a Release that stays needs its ProviderConfig for as long
        configs.hold(pipeline, kept)
        keeping.keep(pipeline, pairs)
    return pipeline.made


def require_earlier_steps(desired: Mapping[str, Resource], observed: Observed, kind: str) -> None:
    """Refuse to be the only step of a composite that this function composes otherwise.

    `edges` make it a late step of an InferenceCluster or a ServingStack too. Where no earlier step desires
    anything, all that exists would be deleted.
    """
    if observed.resources and not desired:
        raise SpecError(
            f"input.edges make this a late step, but no earlier step of the pipeline composes anything for "
            f"this {kind}: remove edges, or put the step that composes it first"
        )

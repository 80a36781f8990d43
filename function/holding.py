"""Plans an object together with the Usages by which it holds what it needs: the Usages first.

A Usage protects nothing before Crossplane has put its finalizer on it and then, in a write of its own, a
label on what it protects. An object that is created together with its Usages loses what it needs when the
delete comes just then: the garbage collector takes the young Usages away, then what they were to protect,
and the object hangs for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.model import Step, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from function.model import Edge, Plan
    from function.observed import Observed


def add(made: Plan, observed: Observed, step: Step, edges: Sequence[Edge], namespace: str) -> bool:
    """Plan the Usages `edges`, and `step` once they are in force; return whether it is planned.

    What exists is planned whatever has become of its Usages.
    """
    for edge in edges:
        made.add(Step(edge.key, Usage(edge, namespace), ready=True))
    if observed.get(step.key) is None and not all(_in_force(observed, edge) for edge in edges):
        return False
    made.add(step)
    return True


def _in_force(observed: Observed, edge: Edge) -> bool:
    """Say whether a Usage holds; of what is not composed here only its finalizer can tell."""
    usage = observed.get(edge.key)
    if usage is None or not usage.finalized:
        return False
    protected = observed.at(edge.protected)
    return protected is None or protected.in_use

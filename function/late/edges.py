"""Holds the pairs that the input names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.late import configs
from function.late.pairs import digest
from function.model import Edge, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from function.late.pairs import Pipeline
    from function.settings import Pair


def hold(pipeline: Pipeline, pairs: Iterable[Pair]) -> None:
    """Plan a Usage for each pair of which both are observed."""
    for pair in sorted(pairs):
        if _is_possible(pipeline, pair):
            _hold(pipeline, pair)


def _is_possible(pipeline: Pipeline, pair: Pair) -> bool:
    """Say what can never become a Usage, or is nowhere to be seen."""
    what = f"input.edges: {pair.protect!r} is not kept until {pair.until_gone!r} is gone"
    for key in (pair.protect, pair.until_gone):
        views = [v for v in (pipeline.observed.get(key), pipeline.desired.get(key)) if v is not None]
        if not views:
            pipeline.made.say(Severity.NORMAL, f"{what}: no step composes {key!r} as yet")
            return False
        if any(view.is_usage for view in views):
            pipeline.made.say(Severity.WARNING, f"{what}: {key!r} is a Usage, and a Usage needs no order")
            return False
    return True


def _hold(pipeline: Pipeline, pair: Pair) -> None:
    protected, user = pipeline.observed.get(pair.protect), pipeline.observed.get(pair.until_gone)
    if protected is None or user is None or not protected.ref.name or not user.ref.name:
        return
    pipeline.protect(Edge(usage_key(pair), protected.ref, user.ref))


def usage_key(pair: Pair) -> str:
    """Return the key of a pair's Usage; a hash is added where two pairs could come to share one."""
    key = f"usage-{pair.protect}-by-{pair.until_gone}"
    if key.count("-by-") > 1 or key.startswith(configs.KEY):
        return f"{key}-{digest(f'{len(pair.protect)} {key}')}"
    return key

"""Whether every live cluster has the Usages that keep its order, and whether none holds for nobody."""

from collections.abc import Iterator

from function.model import Ref
from modelctl.doctor import expected, repair
from modelctl.doctor.finding import Finding, View, error, warning
from modelctl.snapshot.objects import (
    Key,
    Manifest,
    Usage,
    controller,
    deleting,
    key,
    ref,
)

_SHOWN = 3


def present(view: View) -> Iterator[Finding]:
    """Demand a Usage that is in force for each pair of the function's table."""
    found = {pair for usage in view.snapshot.usages() if usage.in_force for pair in _kept(usage)}
    for composite, pairs in expected.pairs(view.snapshot):
        missing = [pair for pair in pairs if _keys(*pair) not in found]
        if missing:
            yield error(ref(composite), _said(missing), repair.recompose(view.snapshot, composite))


def _kept(usage: Usage) -> Iterator[tuple[Key, Key]]:
    """Yield the pair of a Usage; each protects for somebody, too."""
    yield _keys(usage.of, expected.ANYBODY)
    if usage.by is not None:
        yield _keys(usage.of, usage.by)


def _keys(of: Ref, by: Ref) -> tuple[Key, Key]:
    return key(of), key(by)


def _said(missing: list[expected.Pair]) -> str:
    named = [f"of {of} by {by}" if by.kind else f"of {of} by those who use it" for of, by in missing]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    number = "a Usage is" if len(named) == 1 else f"{len(named)} Usages are"
    return f"{number} missing, a delete would lose the order: {', '.join(named[:_SHOWN])}{more}"


def stale(view: View) -> Iterator[Finding]:
    """Tell of a Usage whose user never came, or went unseen: it refuses every delete for ever."""
    for usage in view.snapshot.usages():
        if usage.by is None or deleting(usage.manifest) or not _lost(view, usage.manifest, usage.by):
            continue
        what = f"protects {usage.of} until {usage.by} is gone, which does not exist: it refuses every delete"
        yield warning(ref(usage.manifest), what, repair.kubectl("delete", ref(usage.manifest)))


def _lost(view: View, usage: Manifest, by: Ref) -> bool:
    """Whether the user is surely not there; what the function composes looks after itself."""
    return (
        not controller(usage)
        and view.late(usage["metadata"].get("creationTimestamp"))
        and view.snapshot.gone(by)
    )

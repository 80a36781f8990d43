"""Keeps objects in an annotation, to be asked for by name until they are really gone.

What leaves desired leaves observed at once, though it may finalize for an hour, and a consumer's own record
goes before the consumer. So whoever waits for an object writes down its name first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from function import structs
from function.model import USERS_ANNOTATION, Lookup, Ref

if TYPE_CHECKING:
    from collections.abc import Iterable

    from function.model import Plan
    from function.observed import Observed, Resource


@dataclass(slots=True)
class Answer:
    """What became of the objects asked for: those still there, and those not answered for yet."""

    there: dict[Ref, Resource] = field(default_factory=dict)
    unknown: set[Ref] = field(default_factory=set)

    @property
    def refs(self) -> set[Ref]:
        """All that cannot be called gone."""
        return {*self.there, *self.unknown}


def encode(refs: Iterable[Ref]) -> tuple[str, ...]:
    """Return the entries of the annotation."""
    return tuple([f"{r.api_version},{r.kind},{r.namespace},{r.name}" for r in refs])


def written(carrier: Resource | None) -> str:
    """Return the annotation of `carrier`, an empty one where there is none."""
    return structs.text(carrier.body, "metadata", "annotations", USERS_ANNOTATION) if carrier else ""


def decode(written: str, besides: Iterable[Ref] = ()) -> list[Ref]:
    """Return what the annotation names, `besides` excepted; entries that are malformed are left out."""
    known = set(encode(besides))
    entries = (entry.split(",") for entry in written.split() if entry not in known)
    return [Ref(e[0], e[1], e[3], e[2]) for e in entries if len(e) == 4 and e[0] and e[1] and e[3]]  # noqa: PLR2004 -- the four parts of encode


def ask(made: Plan, observed: Observed, lookup: str, refs: Iterable[Ref]) -> Answer:
    """Ask for each object by name, and say which are there; only 'asked, and none' means gone."""
    answer = Answer()
    for index, ref in enumerate(refs):
        name = f"{lookup}-{index}"
        made.lookups[name] = Lookup(ref.api_version, ref.kind, name=ref.name, namespace=ref.namespace)
        if not observed.asked(name):
            answer.unknown.add(ref)
        for found in observed.found(name):
            answer.there[ref] = found
    return answer

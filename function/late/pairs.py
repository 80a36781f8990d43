"""Turns a pair of observed objects into a Usage, or says why no Usage can hold it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from function import structs
from function.model import USAGE_CONSUMER_LABEL, Edge, Plan, Ref, Severity, Step, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.observed import Observed, Resource

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_NO_LABEL = re.compile(r"[^A-Za-z0-9-]+")
_MOST_READABLE = 50  # characters of a key that stay readable in a label beside its hash


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a late step is given and what it makes of it; `waits` has what each object outlives."""

    made: Plan
    desired: Mapping[str, Resource]
    observed: Observed
    waits: dict[Ref, set[Ref]] = field(default_factory=dict)

    def protect(self, edge: Edge) -> bool:
        """Plan the Usage of one edge; return whether it is planned, or planned by an earlier step."""
        of, by = edge.protected, edge.until_gone
        if bool(of.namespace) != bool(by.namespace):
            self._warn(edge, "one of them is namespaced and the other is not, which no Usage can relate")
            return False
        if self._leads(by, of):
            self._warn(edge, f"{by} waits for {of} already, and neither could ever go")
            return False
        standing = self.desired.get(edge.key)
        if standing is not None and not standing.composed_here and _holds(standing, edge):
            return True
        if self._is_taken(edge.key):
            self._warn(edge, f"something else is composed as {edge.key}")
            return False
        self.made.steps[edge.key] = Step(edge.key, Usage(edge, by.namespace), ready=True)
        self.waits.setdefault(of, set()).add(by)
        return True

    def _is_taken(self, key: str) -> bool:
        standing, there = self.desired.get(key), self.observed.get(key)
        if standing is not None:
            return not (standing.is_usage and standing.composed_here)
        return there is not None and not there.is_usage

    def _warn(self, edge: Edge, why: str) -> None:
        ends = f"{edge.protected} is not kept until {edge.until_gone} is gone"
        self.made.say(Severity.WARNING, f"{ends}: {why}")

    def _leads(self, start: Ref, goal: Ref) -> bool:
        """Whether `start` is `goal`, or waits for it, directly or through others."""
        if start == goal:
            return True
        seen, ahead = {start}, [start]
        while ahead:
            for ref in self.waits.get(ahead.pop(), ()):
                if ref == goal:
                    return True
                if ref not in seen:
                    seen.add(ref)
                    ahead.append(ref)
        return False


def _holds(standing: Resource, edge: Edge) -> bool:
    """Whether a Usage that an earlier step desires holds the same pair."""
    if not standing.is_usage:
        return False
    labels = ("spec", "by", "resourceSelector", "matchLabels", USAGE_CONSUMER_LABEL)
    of, by = (structs.text(standing.body, "spec", end, "resourceRef", "name") for end in ("of", "by"))
    label = structs.text(standing.body, *labels)
    same_user = by == edge.until_gone.name or bool(label and label == edge.by_label)
    return of == edge.protected.name and same_user


def label_value(key: str) -> str:
    """Return the key as the value of a label; one that does not fit is shortened and told apart by a hash."""
    if _LABEL_VALUE.fullmatch(key):
        return key
    readable = _NO_LABEL.sub("-", key)[:_MOST_READABLE].strip("-") or "key"
    return f"{readable}-{digest(key)}"


def digest(text: str) -> str:
    """Return a short hash that stays the same between versions: keys of Usages are made of it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]

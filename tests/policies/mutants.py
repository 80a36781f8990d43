"""Every policy with one clause of one expression replaced by `true` or `false`.

A clause is an operand of `&&` or `||`, at any depth of parentheses, the condition of a ternary, or a whole
condition that has neither. A case table that notices each of these replacements tests every clause.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policies.kinds import Object

_OPEN, _CLOSE = "([{", ")]}"
_COMPARISONS = (" == ", " != ", " in ", ".matches(")


@dataclass(frozen=True)
class Mutant:
    """A policy that differs from the shipped one in one clause."""

    policy: str
    place: str
    clause: str
    becomes: str
    manifest: Object

    def __str__(self) -> str:
        """Say which clause of which expression became what."""
        return f"{self.policy}, {self.place}: `{self.clause}` becomes {self.becomes}"


def mutants(policy: Object) -> Iterator[Mutant]:
    """Yield all mutants of a policy."""
    for place, index, key, label in _expressions(policy):
        expression = policy["spec"][place][index][key]
        for start, end in clauses(expression, boolean=place != "variables"):
            for value in ("true", "false"):
                manifest = copy.deepcopy(policy)
                manifest["spec"][place][index][key] = expression[:start] + value + expression[end:]
                yield Mutant(policy["metadata"]["name"], label, expression[start:end], value, manifest)


def clauses(expression: str, *, boolean: bool) -> list[tuple[int, int]]:
    """Return where the clauses of an expression begin and end; `boolean`: the whole is a condition."""
    found = list(_walk(expression, *_stripped(expression, 0, len(expression))))
    if not found and (boolean or any(sign in expression for sign in _COMPARISONS)):
        found = [_stripped(expression, 0, len(expression))]
    return found


def _expressions(policy: Object) -> Iterator[tuple[str, int, str, str]]:
    for place in ("matchConditions", "variables", "validations"):
        for index, entry in enumerate(policy["spec"].get(place, ())):
            yield place, index, "expression", f"{place} {entry.get('name', index)}"


def _walk(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    question = _cuts(text, start, end, "?")
    if question:
        colon = _cuts(text, question[0], end, ":")[0]
        yield _stripped(text, start, question[0])
        parts = [(start, question[0]), (question[0] + 1, colon), (colon + 1, end)]
    else:
        parts = _operands(text, start, end)
        if len(parts) > 1:
            yield from parts
        else:
            parts = list(_inside(text, start, end))
    for part in parts:
        yield from _walk(text, *_stripped(text, *part))


def _operands(text: str, start: int, end: int) -> list[tuple[int, int]]:
    for operator in ("||", "&&"):
        cuts = _cuts(text, start, end, operator)
        if cuts:
            edges = [start - 2, *cuts, end]
            return [_stripped(text, a + 2, b) for a, b in itertools.pairwise(edges)]
    return []


def _inside(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the arguments of every call and what is in every parenthesis of a span without connectives."""
    depth, begin = 0, start
    for position in _code(text, start, end):
        character = text[position]
        if character in _OPEN:
            depth += 1
            begin = position + 1 if depth == 1 else begin
        elif character in _CLOSE:
            depth -= 1
            if depth == 0:
                yield begin, position
        elif character == "," and depth == 1:
            yield begin, position
            begin = position + 1


def _cuts(text: str, start: int, end: int, sign: str) -> list[int]:
    """Return where `sign` stands between `start` and `end`, outside of quotes and parentheses."""
    depth, cuts = 0, []
    for position in _code(text, start, end):
        character = text[position]
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth == 0 and text.startswith(sign, position):
            cuts.append(position)
    return cuts


def _code(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the positions that are not within a quoted string."""
    quoted = False
    for position in range(start, end):
        if text[position] == "'":
            quoted = not quoted
        elif not quoted:
            yield position


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))

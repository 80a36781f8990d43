"""The case table notices when any clause of any expression of the bundle is replaced by true or by false."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from policies.bundle import FLAT, admission, documents, install, moved
from policies.kinds import KINDS, PLATFORM, Kind, Object
from policies.mutants import Mutant, clauses, mutants
from policies.play import Ground, build, complaints, play
from policies.table import Case, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policies.wire import Wire

ANSWERS = {200, 201, 422}


@dataclass(frozen=True)
class Family:
    """A policy and its recorder, what they look at, and the groups in which their mutants do.

    Groups of their own, so that neither the shipped bundle nor another family judges a mutant's objects.
    """

    policy: str
    kinds: tuple[Kind, ...]

    @property
    def stand_ins(self) -> str:
        """The suffix of the groups."""
        return f"{self.policy}.example.org"

    def manifests(self) -> list[Object]:
        """Return the policies and bindings."""
        names = {self.policy, f"{self.policy}-break-glass"}
        manifests = documents(FLAT.read_text())
        return [d for d in manifests if {d["metadata"]["name"], d["spec"].get("policyName")} & names]

    def cases(self) -> list[Case]:
        """Return the rows about these kinds."""
        return [case for case in load() if case.kind in self.kinds]

    def mutants(self) -> list[Mutant]:
        """Return all mutants of both policies; the position of each is its number."""
        policies = (d for d in self.manifests() if d["kind"] == "ValidatingAdmissionPolicy")
        return [mutant for policy in policies for mutant in mutants(policy)]


OTHERS = tuple(kind for kind in KINDS.values() if kind not in PLATFORM)
FAMILIES = (Family("forceforeground", OTHERS), Family("protect-platform", PLATFORM))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.policy)
def test_every_clause_is_needed_by_a_case(wire: Wire, family: Family) -> None:
    """For every clause and either constant in its place a case fails; for the bundle itself none does."""
    field = Ground(wire, family.stand_ins)
    build(field, family.kinds)
    originals = [_original(manifest, family) for manifest in family.manifests()]
    install(wire, [*originals, *_installed(family)])
    assert _wrong_without_mutants(field, family) == {}
    survivors = [str(mutant) for mutant in _survivors(field, family)]
    assert not survivors, "\n".join(survivors)


def _wrong_without_mutants(field: Ground, family: Family) -> dict[str, list[str]]:
    ground = field.labelled("-original", {"mutant": "none"})
    found = {case.id: complaints(case, *play(ground, case)) for case in family.cases()}
    return {name: wrong for name, wrong in found.items() if wrong}


def _survivors(field: Ground, family: Family) -> Iterator[Mutant]:
    cases = family.cases()
    for number, mutant in enumerate(family.mutants()):
        ground = field.labelled(f"-m{number}", {"mutant": f"m{number}", "mutates": mutant.policy})
        killer = next((case for case in cases if _fails(ground, case)), None)
        if killer is None:
            yield mutant
        else:
            # Neighbours tend to fail the same case: trying it first saves most of the requests.
            cases.remove(killer)
            cases.insert(0, killer)


def test_families_cover_the_bundle() -> None:
    """Every policy and binding belongs to a family, and every row of the table to exactly one."""
    names = [manifest["metadata"]["name"] for family in FAMILIES for manifest in family.manifests()]
    assert sorted(names) == sorted(d["metadata"]["name"] for d in documents(FLAT.read_text()))
    assert sorted(case.name for family in FAMILIES for case in family.cases()) == sorted(
        c.name for c in load()
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a && b", ["a", "b"]),
        ("a || b && (c || d)", ["a", "b && (c || d)", "b", "(c || d)", "c", "d"]),
        ("x.exists(o, has(o.c) && o.c) && y", ["x.exists(o, has(o.c) && o.c)", "y", "has(o.c)", "o.c"]),
        ("has(a) ? b : 'x && y'", ["has(a)"]),
        ("'p: ' + (has(a) ? b + ' || ' : '')", ["has(a)"]),
        ("!a", ["!a"]),
        ("a == 'b && c'", ["a == 'b && c'"]),
    ],
)
def test_clauses(expression: str, expected: list[str]) -> None:
    """Clauses are found at any depth, and never inside a quoted string."""
    found = [expression[start:end] for start, end in clauses(expression, boolean=True)]
    assert sorted(found) == sorted(expected)


def _fails(ground: Ground, case: Case) -> bool:
    manifest, answer = play(ground, case)
    assert answer.code in ANSWERS, f"{case.id} on {ground.labels}: {answer}"
    return bool(complaints(case, manifest, answer))


def _installed(family: Family) -> Iterator[Object]:
    """Yield the mutants' policies, then their bindings: each judges the objects that carry its number."""
    manifests = family.manifests()
    actions = {
        d["spec"]["policyName"]: d["spec"]["validationActions"]
        for d in manifests
        if "policyName" in d["spec"]
    }
    numbered = [(f"m{number}", mutant) for number, mutant in enumerate(family.mutants())]
    for number, mutant in numbered:
        metadata = {"name": f"{family.policy}-{number}"}
        yield {**moved(mutant.manifest, family.stand_ins, "mutant"), "metadata": metadata}
    for number, mutant in numbered:
        name = f"{family.policy}-{number}"
        selector = {"objectSelector": {"matchLabels": {"mutant": number}}}
        spec = {"policyName": name, "matchResources": selector, "validationActions": actions[mutant.policy]}
        yield admission("ValidatingAdmissionPolicyBinding", name, spec)


def _original(manifest: Object, family: Family) -> Object:
    """Return a manifest for the stand-ins; a binding spares the objects of its policy's own mutants."""
    original = moved(manifest, family.stand_ins, "original")
    if manifest["kind"] == "ValidatingAdmissionPolicyBinding":
        others = {"key": "mutates", "operator": "NotIn", "values": [manifest["spec"]["policyName"]]}
        original["spec"]["matchResources"] = {"objectSelector": {"matchExpressions": [others]}}
    return original

"""Every row of policies/cases.yaml as a real request to a real API server with the shipped bundle."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from policies.kinds import COVERED
from policies.planes import exclusive
from policies.play import Ground, aftermath, complaints, play
from policies.table import Case, load

if TYPE_CHECKING:
    from controlplane.plane import Plane

CASES = load()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(plane: Plane, ground: Ground, case: Case) -> None:
    """The server answers as the row says, and the object is left as that answer promises."""
    with _alone(plane, case):
        _check(ground, case)


def _alone(plane: Plane, case: Case) -> contextlib.AbstractContextManager[None]:
    # An object with a name of its own serves several cases.
    return exclusive(plane, "named-objects") if "name" in case.object else contextlib.nullcontext()


def _check(ground: Ground, case: Case) -> None:
    before = "deleting" if case.deleting else "there"
    manifest, answer = play(ground, case)
    assert complaints(case, manifest, answer) == []
    left = aftermath(ground, case, manifest)
    if case.verb == "DELETE" and case.allowed and "dryRun" not in (case.options or {}):
        assert left in {"gone", "deleting"}
    elif case.verb == "DELETE":
        assert left == before


@pytest.mark.parametrize("case", [case for case in CASES if not case.allowed], ids=lambda case: case.id)
def test_refusal_names_policy_and_binding(plane: Plane, ground: Ground, case: Case) -> None:
    """A refusal says which policy and which binding it comes from, and its reason is Invalid."""
    with _alone(plane, case):
        _, answer = play(ground.labelled("-again", {}), case)
    policy, binding = (
        ("forceforeground", "foregroundbinding") if case.kind in COVERED else ("protect-platform",) * 2
    )
    ours = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: "
    assert (ours in answer.message) == (case.name != "wrong-case")
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")


def test_ids_are_unique() -> None:
    """No two rows share a name."""
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []


def test_every_covered_kind_has_a_refusal() -> None:
    """Each kind of forceforeground is refused in the background by at least one row."""
    refused = {case.kind.kind for case in CASES if not case.allowed and case.kind in COVERED}
    assert refused == {kind.kind for kind in COVERED}

"""Shared planes end with the last test that needs them."""

from __future__ import annotations

from support import recipes, stages

POLICED = ["tests/e2e/test_policed.py::one", "tests/e2e/test_policed.py::two"]
OTHER = "tests/function/test_gates.py::any"


def test_a_plane_ends_with_its_last_test() -> None:
    """Tests may end in any order; each counts once."""
    countdown = stages.Countdown([*POLICED, OTHER])
    assert countdown.done(POLICED[1]) == []
    assert countdown.done(OTHER) == []
    assert countdown.done(POLICED[0]) == ["policed"]
    assert countdown.done(POLICED[0]) == []


def test_a_repeated_test_has_not_ended() -> None:
    """Its plane is there for the second attempt, and ends after that."""
    countdown = stages.Countdown([POLICED[0]])
    countdown.again(POLICED[0])
    assert countdown.done(POLICED[0]) == []
    assert countdown.done(POLICED[0]) == ["policed"]


def test_every_plane_of_a_stage_has_a_recipe_and_the_other_way_round() -> None:
    """A plane without a stage would run until the end of the session."""
    assert {plane for stage in stages.STAGES for plane in stage.planes} == set(recipes.RECIPES)


def test_the_first_matching_stage_counts() -> None:
    """A file of its own comes before the folder that it lies in."""
    assert stages.STAGES[stages.of(POLICED[0])].planes == ("policed",)
    assert stages.STAGES[stages.of("tests/e2e/test_order.py::any")].planes == ("open",)
    assert stages.STAGES[stages.of("tests/project/test_stages.py::any")].planes == ("whole",)


def test_tests_that_take_turns_are_spread() -> None:
    """Neighbours in the list are apart in the run; the rest stays in its stages and its order."""
    turns = [f"tests/e2e/test_doctor.py::{n}" for n in range(2)]
    beside = [f"tests/e2e/test_order.py::{n}" for n in range(4)]
    listed = ["tests/releases/test_api.py::last", *turns, *beside, OTHER]
    run = [listed[place] for place in stages.arranged(listed)]
    assert run == [OTHER, turns[0], beside[0], beside[1], turns[1], beside[2], beside[3], listed[0]]

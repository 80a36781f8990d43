"""The references are what code and schemas say, and their tables leave out nothing that the code spells."""

from __future__ import annotations

import pytest

from llm_operator.teardown import events
from llm_operator.teardown.model import Decision, Reason
from support.reference import fields, found, pages
from support.reference.pages import TABLES

CONDITIONS = TABLES["conditions"]
# The phase of a service, which the condition's message quotes: no reason of a condition.
PHASES = {"Ready"}


@pytest.mark.parametrize("name", pages.files())
def test_generated(name: str) -> None:
    """`make generate` would change nothing."""
    assert (pages.ROOT / name).read_text() == pages.files()[name], f"{name} is stale: run make generate"


def test_conditions_of_the_function() -> None:
    """Each type and reason that it may write is in the table, and no other."""
    kinds = (CONDITIONS[kind] for kind in ("InferenceCluster", "ServingStack"))
    entries = {kind: rows for conditions in kinds for kind, rows in conditions.items()}
    told = {*entries, *(reason for rows in entries.values() for _, reason, _ in rows)}
    assert told == found.conditions() - PHASES


def test_conditions_of_an_llmservice() -> None:
    """The same of the controller."""
    told = {kind: {reason for _, reason, _ in rows} for kind, rows in CONDITIONS["LLMService"].items()}
    assert told == {"Ready": found.ready_reasons(), "Deleting": {str(reason) for reason in Reason}}


def test_events() -> None:
    """Each reason of an event is told, with its type where stages or notes decide it."""
    told = {reason: kind == "Warning" for reason, kind, _ in TABLES["events"]}
    assert set(told) == found.event_reasons()
    for reason in Reason:
        assert told[reason] == events.transition(reason, "").warning
    for note in ("DeletionSuspended", "Orphaned", "ForeignRelease"):
        assert told[note] == events.note(Decision(note=note), 1).warning


def test_names() -> None:
    """Each annotation, label and finalizer of ours that code or a policy spells is told."""
    assert {name for rows in TABLES["names"].values() for name, *_ in rows} == found.names()


@pytest.mark.parametrize("kind", ["InferenceCluster", "ServingStack", "Settings", "LLMService"])
def test_every_field_says_something(kind: str) -> None:
    """No empty cell."""
    assert [field for field, _, _, says in fields.rows(fields.schema(kind)) if not says] == []


@pytest.mark.parametrize("name", pages.files())
def test_every_row_says_something(name: str) -> None:
    """A flag or metric without help would be an empty last cell."""
    rows = [line for line in pages.files()[name].splitlines() if line.startswith("|")]
    assert [row for row in rows if row.endswith("|  |")] == []

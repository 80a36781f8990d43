"""Watch events in, moments out: what happens to which object, when, and why. Pure.

Every "why" is read off the objects themselves: who holds what is what the Usages say, what composed what is
what the controller ownerReferences say, how far a teardown is stands in the status.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from examples.demo import objects
from examples.demo.objects import CONFIGS, USAGES, Hold, Thing, What, hold, thing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from controlplane.kube import Object
    from controlplane.timeline import Event


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline. `version` is the server's and orders moments; `time` is in epoch seconds."""

    version: int
    time: float
    thing: Thing
    label: str
    what: What
    why: str = ""


def narrate(events: Iterable[Event]) -> list[Moment]:
    """Tell events, given in the server's order, from the creation of the first object on.

    Each kind's watch has a delay of its own: no moment is told with a time before that of an earlier one.
    """
    story, latest, told = _Story(), 0.0, []
    for event in events:
        latest = max(latest, event.time)
        told += [replace(moment, time=latest) for moment in story.tell(event)]
    return told


def holds(events: Iterable[Event]) -> list[Hold]:
    """Return what the Usages that were ever seen say, in the order of their appearance."""
    found = (hold(event.object) for event in events if event.ref.kind in USAGES)
    return list(dict.fromkeys(each for each in found if each))


def released(events: Iterable[Event]) -> list[Object]:
    """Return the Usages, and deleted Objects, that are there although what they stay for has gone."""
    there: dict[Thing, Object] = {}
    gone: set[Thing] = set()
    for event in events:
        subject = thing(event.object)
        if event.type == "DELETED":
            gone.add(subject)
            there.pop(subject, None)
        elif event.deleting or subject.kind in USAGES:
            there[subject] = event.object
    return [obj for obj in there.values() if objects.stays_for(obj) in gone]


def labels(events: Iterable[Event]) -> dict[Thing, str]:
    """Return the short names of all objects that were ever seen."""
    return {thing(event.object): objects.label(event.object) for event in events}


def named(things: Iterable[Thing], short: Mapping[Thing, str]) -> str:
    """List objects in one phrase; a leaf by its key alone, anything else with its kind."""
    return ", ".join(
        f"{each.kind} {short.get(each, each.name)}" if each.kind in CONFIGS else short.get(each, each.name)
        for each in dict.fromkeys(things)
    )


class _Story:
    """What is known after the events so far."""

    def __init__(self) -> None:
        self._labels: dict[Thing, str] = {}
        self._objects: dict[Thing, Object] = {}
        self._usages: dict[Thing, Hold] = {}
        self._ever: dict[Hold, None] = {}
        self._guarded: dict[Thing, str] = {}
        self._composed_by: dict[Thing, tuple[str, str]] = {}
        self._composites: set[tuple[str, str]] = set()
        self._told: set[tuple[Thing, What, str]] = set()

    def tell(self, event: Event) -> list[Moment]:
        """Take in one event and return what it says that was not said before."""
        subject = thing(event.object)
        if subject.kind in USAGES:
            return self._tell_usage(subject, event)
        self._note(subject, event.object)
        told = [
            Moment(
                event.version, event.time, subject, self._labels[subject], *self._put(subject, what, stage)
            )
            for what, stage in objects.happened(event)
            if (subject, what, stage) not in self._told
        ]
        self._told.update((subject, what, stage) for what, stage in objects.happened(event))
        if event.type == "DELETED":
            self._composed_by.pop(subject, None)
        return told

    def _note(self, subject: Thing, obj: Object) -> None:
        self._labels[subject] = objects.label(obj)
        self._objects[subject] = obj
        for owner in obj["metadata"].get("ownerReferences", ()):
            if owner.get("controller"):
                self._composed_by[subject] = owner["kind"], owner["name"]
                self._composites.add((owner["kind"], owner["name"]))

    def _tell_usage(self, subject: Thing, event: Event) -> list[Moment]:
        if guard := objects.guarded(event.object):
            self._guarded[guard[0]] = guard[1]
        said = hold(event.object)
        if said is None:
            return []
        if event.type != "DELETED":
            self._usages[subject] = said
            self._ever[said] = None
            return []
        self._usages.pop(subject, None)
        target = said.protected
        # One that nobody has asked to go is not waiting: a component that was merely taken out of the table.
        if self._holders(target) or not self._has(target, What.WAITS):
            return []
        why = f"{self._name([said.until_gone])} was the last to hold it"
        return [Moment(event.version, event.time, target, self._labels[target], What.FREE, why)]

    def _put(self, subject: Thing, what: What, stage: str) -> tuple[What, str]:
        """Say what has happened and why. A refusal by a guard without a user is not a wait for anybody."""
        if what is What.WAITS and not stage and subject in self._guarded:
            return What.REFUSED, self._guarded[subject]
        return what, self._why_staged(subject, what) if stage else self._why(subject, what)

    def _why_staged(self, subject: Thing, what: What) -> str:
        at = objects.stage(self._objects[subject]) or objects.Stage("")
        if what is What.WAITS:
            return self._name(self._find(*each) for each in at.waits)
        return f"{at.name}: {at.message}" if at.message and not at.waits else at.name

    def _why(self, subject: Thing, what: What) -> str:
        match what:
            case What.DELETING:
                return self._why_deleting(subject)
            case What.WAITS:
                return self._name(self._holders(subject))
            case What.GONE:
                return self._why_gone(subject)
        return ""

    def _why_deleting(self, subject: Thing) -> str:
        if objects.TEARDOWN in self._objects[subject]["metadata"].get("finalizers", ()):
            return "stays until its controller has taken it down"
        composed = [each for each in self._composed_by if self._is_composed_by(each, subject)]
        if composed:
            return f"stays until all that it composed is gone, {len(composed)} left"
        if (carries := self._carried(subject)) and not self._has(carries, What.GONE):
            return f"stays until {carries.kind} {self._labels[carries]} is gone"
        return "nothing holds it any more" if self._was_held(subject) else "nothing holds it"

    def _why_gone(self, subject: Thing) -> str:
        held = [each.protected for each in self._ever if each.until_gone == subject]
        after = self._went_before(subject)
        parts = [f"after {', '.join(after)}"] if after else []
        parts += [f"held {self._name(held)}"] if held else []
        return "; ".join(parts) or "nothing held it"

    def _went_before(self, subject: Thing) -> list[str]:
        users = [each.until_gone for each in self._ever if each.protected == subject]
        carries = self._carried(subject)
        after = [self._name([*users, *([carries] if carries else [])])] if users or carries else []
        if (subject.kind, subject.name) in self._composites:
            after.append("all that it composed")
        at = objects.stage(self._objects[subject])
        if at and at.outcome:
            after.append(f"its last stage, with outcome {at.outcome}")
        return after

    def _carried(self, subject: Thing) -> Thing | None:
        """Return what an Object manages, where that is of the story as well."""
        found = objects.carried(self._objects[subject])
        return found if found in self._labels else None

    def _has(self, subject: Thing, what: What) -> bool:
        return (subject, what, "") in self._told

    def _find(self, kind: str, name: str) -> Thing:
        """Return the object of a kind and name, of whatever group."""
        found = (each for each in self._labels if (each.kind, each.name) == (kind, name))
        return next(found, Thing(kind, "", name))

    def _holders(self, subject: Thing) -> list[Thing]:
        return [each.until_gone for each in self._usages.values() if each.protected == subject]

    def _was_held(self, subject: Thing) -> bool:
        return any(each.protected == subject for each in self._ever)

    def _is_composed_by(self, each: Thing, owner: Thing) -> bool:
        return self._composed_by[each] == (owner.kind, owner.name)

    def _name(self, things: Iterable[Thing]) -> str:
        return named(things, self._labels)

"""What is left of an InferenceCluster, as a tree. Pure.

What it composed is remembered by UID: an object that leaves the composite's desired state loses its label and
its place in `resourceRefs` long before it has gone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from function.model import Ref
from modelctl.snapshot.objects import (
    Manifest,
    Snapshot,
    block,
    controller,
    deleting,
    name,
    namespace,
    paused,
    ref,
    uid,
    why,
)

USAGES = ("Usage", "ClusterUsage")
MOST_HOLDERS = 3
LONGEST_WHY = 160


@dataclass(slots=True)
class Family:
    """The UIDs of an InferenceCluster and of all that was ever seen below it, each with its parent's."""

    root: str
    parents: dict[str, str] = field(default_factory=dict)
    known: dict[str, Ref] = field(default_factory=dict)

    def look(self, snapshot: Snapshot) -> Mapping[str, Manifest]:
        """Return what is there of it by UID, the new members among it."""
        everything = {uid(one): one for found in snapshot.objects.values() for one in found}
        fresh = True
        while fresh:
            fresh = False
            for one_uid, one in everything.items():
                parent = controller(one)
                if one_uid not in self.known and (one_uid == self.root or parent in self.known):
                    self.known[one_uid], self.parents[one_uid] = ref(one), parent
                    fresh = True
        return {one: everything[one] for one in self.known if one in everything}


@dataclass(frozen=True, slots=True)
class Tree:
    """One look: what is there, who holds it, and what went since the look before."""

    snapshot: Snapshot
    family: Family
    there: Mapping[str, Manifest]
    went: tuple[Ref, ...] = ()

    @property
    def root(self) -> Manifest | None:
        """The InferenceCluster, None when it is gone."""
        return self.there.get(self.family.root)

    @property
    def left(self) -> list[Manifest]:
        """What is left but the InferenceCluster; Usages only where nothing else is."""
        below = [one for one_uid, one in self.there.items() if one_uid != self.family.root]
        return [one for one in below if one["kind"] not in USAGES] or below

    def lines(self, *, live: bool) -> list[str]:
        """Draw it. Live with how long it takes; else without, so that lines change when something happens."""
        now = self.snapshot.now if live else None
        went = [] if live else [f"  {_label(one)}: gone" for one in self.went if one.kind not in USAGES]
        return [*went, self.headline(), *self._below(self.family.root, 1, now)]

    def headline(self) -> str:
        """Say how far it is, in a line."""
        number = len(self.left)
        about = f"InferenceCluster {self.family.known[self.family.root].name}"
        root = self.root
        if root is None:
            return f"{about}: gone" + (f", {number} left of what it composed" if number else "")
        teardown = block(block(root.get("status")).get("teardown"))
        stage = str(teardown.get("stage") or "") if not deleting(root) else ""
        state = stage or (f"deleting since {clock(deleting(root))}" if deleting(root) else "not deleted yet")
        said = f": {teardown['message']}" if stage in _WORTH and teardown.get("message") else ""
        return f"{about}: {state}, {number} left{said}"

    def _below(self, parent: str, depth: int, now: datetime | None) -> Iterator[str]:
        shown = {uid(one) for one in self.left}
        for one_uid, one in sorted(self.there.items(), key=lambda entry: str(ref(entry[1]))):
            above = self._shown_parent(one_uid)
            if one_uid in shown and above == parent:
                yield f"{'  ' * depth}{_label(ref(one))}: {self._state(one, now)}"
                yield from self._below(one_uid, depth + 1, now)

    def _shown_parent(self, one: str) -> str:
        """Return what an object hangs below: the next one above it that is still there."""
        parent = self.family.parents.get(one, "")
        while parent in self.family.known and parent not in self.there and parent != self.family.root:
            parent = self.family.parents.get(parent, "")
        return parent

    def _state(self, one: Manifest, now: datetime | None) -> str:
        since = deleting(one)
        state = f"deleting since {clock(since)}" if since else "not deleted yet"
        if since and now is not None:
            state += f", for {span(self.snapshot.age(since))}"
        return "; ".join([state, *self._reasons(one)])

    def _reasons(self, one: Manifest) -> Iterator[str]:
        users = [u.by or ref(u.manifest) for u in self.snapshot.holders(one) if one["kind"] not in USAGES]
        users = [by for by in users if not self.snapshot.gone(by)]
        if users:
            named = [_label(by) for by in sorted(users, key=str)]
            more = f" and {len(named) - MOST_HOLDERS} more" if len(named) > MOST_HOLDERS else ""
            yield f"held by {', '.join(named[:MOST_HOLDERS])}{more}"
        if any(self.family.parents.get(other) == uid(one) for other in self.there):
            yield "stays until what it composed is gone"
        if paused(one):
            yield "paused"
        if deleting(one) and (said := _service(one) or why(one)):
            yield said if len(said) <= LONGEST_WHY else said[: LONGEST_WHY - 3] + "..."


_WORTH = ("WaitingForUsers", "DeletionPending")
"""Stages whose message says what to do."""


def _service(one: Manifest) -> str:
    """Return how far the LLMService is that an Object carries."""
    carried = block(block(block(one.get("status")).get("atProvider")).get("manifest"))
    deletion = block(block(carried.get("status")).get("deletion"))
    if not deletion.get("stage"):
        return ""
    what = f"{carried.get('kind')} {namespace(carried)}/{name(carried)}"
    return f"{what}: {deletion['stage']} {deletion.get('message') or ''}".rstrip()


def _label(one: Ref) -> str:
    """Name an object; ProviderConfigs of different providers share kind and name."""
    if one.kind.endswith("ProviderConfig"):
        return f"{one.kind} {one.api_version.partition('.')[0]} {one.name}"
    return f"{one.kind} {one.name}"


def clock(text: str) -> str:
    """Return the time of day of a time of the API."""
    return f"{text.partition('T')[2].rstrip('Z').partition('.')[0]} UTC"


def span(time: timedelta) -> str:
    """Return a time as people read it."""
    minutes, seconds = divmod(max(int(time.total_seconds()), 0), 60)
    return f"{minutes}m{seconds:02}s" if minutes else f"{seconds}s"

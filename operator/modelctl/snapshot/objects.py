"""A snapshot, and what is asked of it and of its objects. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from function.model import PROTECTION, Ref

Manifest = Mapping[str, Any]
Kind = tuple[str, str]
"""API group and kind."""
Key = tuple[str, str, str, str]
"""API group, kind, namespace and name."""

PAUSED = "crossplane.io/paused"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that was read, at `now`.

    `groups` are the API groups that are served. `unread` says why objects of a kind could not be listed: of
    such a kind nothing is known, and nothing may be called gone.
    """

    now: datetime
    objects: Mapping[Kind, tuple[Manifest, ...]]
    groups: frozenset[str] = frozenset()
    unread: Mapping[Kind, str] = field(default_factory=dict)

    def of(self, group: str, kind: str) -> tuple[Manifest, ...]:
        """Return all objects of a kind."""
        return self.objects.get((group, kind), ())

    def kind(self, *kinds: str) -> Iterator[Manifest]:
        """Yield all objects of these kinds, whatever their group."""
        for (_, kind), found in self.objects.items():
            if kind in kinds:
                yield from found

    def find(self, ref: Ref) -> Manifest | None:
        """Return an object; the version of its API does not matter."""
        found = self.of(group(ref.api_version), ref.kind)
        wanted = (ref.namespace, ref.name)
        return next((o for o in found if (namespace(o), name(o)) == wanted), None)

    def by_uid(self, wanted: str) -> Manifest | None:
        """Return the object of a UID."""
        everything = (one for found in self.objects.values() for one in found)
        return next((one for one in everything if wanted and uid(one) == wanted), None)

    def gone(self, ref: Ref) -> bool:
        """Whether an object surely does not exist: its kind was read, and it is not among them."""
        kind = (group(ref.api_version), ref.kind)
        return kind in self.objects and kind not in self.unread and self.find(ref) is None

    def controlled_by(self, owner: Manifest) -> Iterator[Manifest]:
        """Yield what an object composed, as far as it still says so."""
        for found in self.objects.values():
            yield from (o for o in found if controller(o) == uid(owner))

    def usages(self) -> Iterator["Usage"]:
        """Yield every Usage that names what it protects."""
        for found in self.kind("Usage", "ClusterUsage"):
            if group(found["apiVersion"]) == group(PROTECTION) and (of := _end(found, "of")) is not None:
                yield Usage(found, of, _end(found, "by"))

    def holders(self, manifest: Manifest) -> list["Usage"]:
        """Return the Usages that protect an object."""
        return [usage for usage in self.usages() if key(usage.of) == key(ref(manifest))]

    def age(self, text: object) -> timedelta:
        """Return how long ago a time of the API was; nothing where there is none."""
        moment = parse(text)
        return self.now - moment if moment is not None else timedelta(0)


@dataclass(frozen=True, slots=True)
class Usage:
    """A Usage and the objects that it names; `by` is None for one that gives a reason only."""

    manifest: Manifest
    of: Ref
    by: Ref | None

    @property
    def in_force(self) -> bool:
        """Whether it protects: Crossplane has put its finalizer on it. One that is deleted still does."""
        return bool(self.manifest["metadata"].get("finalizers"))


def _end(usage: Manifest, end: str) -> Ref | None:
    given = block(block(usage.get("spec")).get(end))
    named = block(given.get("resourceRef"))
    if not named.get("name"):
        return None
    where = str(named.get("namespace") or namespace(usage))
    return Ref(str(given.get("apiVersion")), str(given.get("kind")), str(named["name"]), where)


def parse(text: object) -> datetime | None:
    """Read a time of the API."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def block(value: object) -> Manifest:
    """Return a mapping, empty where there is none."""
    return value if isinstance(value, Mapping) else {}


def name(manifest: Manifest) -> str:
    """Return an object's name."""
    return str(manifest["metadata"]["name"])


def namespace(manifest: Manifest) -> str:
    """Return an object's namespace, empty for a cluster-scoped one."""
    return str(manifest["metadata"].get("namespace") or "")


def uid(manifest: Manifest) -> str:
    """Return an object's UID."""
    return str(manifest["metadata"].get("uid") or "")


def group(api_version: str) -> str:
    """Return the API group, empty for the core's."""
    return api_version.rpartition("/")[0]


def ref(manifest: Manifest) -> Ref:
    """Return the reference to an object."""
    return Ref(manifest["apiVersion"], manifest["kind"], name(manifest), namespace(manifest))


def key(one: Ref) -> Key:
    """Return what tells an object from all others: the version of its API does not matter."""
    return group(one.api_version), one.kind, one.namespace, one.name


def annotation(manifest: Manifest, key: str) -> str:
    """Return an annotation's text, empty where there is none."""
    return str(block(manifest["metadata"].get("annotations")).get(key) or "")


def paused(manifest: Manifest) -> bool:
    """Whether somebody told Crossplane to leave the object alone."""
    return annotation(manifest, PAUSED) == "true"


def deleting(manifest: Manifest) -> str:
    """Return since when an object is being deleted, empty when it is not."""
    return str(manifest["metadata"].get("deletionTimestamp") or "")


def controller(manifest: Manifest) -> str:
    """Return the UID of the owner that controls it, empty where there is none."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    return next((str(o.get("uid")) for o in owners if o.get("controller")), "")


def condition(manifest: Manifest, kind: str) -> Manifest:
    """Return one of an object's conditions, empty where it has none of that type."""
    found = block(manifest.get("status")).get("conditions") or ()
    return next((c for c in found if c.get("type") == kind), {})


def why(manifest: Manifest) -> str:
    """Return what an object says of its trouble, in one line."""
    for kind in ("Synced", "Ready"):
        said = condition(manifest, kind)
        if said.get("status") == "False" and said.get("message"):
            return " ".join(str(said["message"]).split())
    return ""

"""Reads observed and required resources into frozen views: which exist, which are ready, what they name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from function import structs, wire
from function.model import COMPOSED_LABEL, IN_USE_LABEL, PROTECTION, Ref, Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.wire import Request, Resources, Struct
    from function.wire import Resource as Given


@dataclass(frozen=True, slots=True)
class Owner:
    """A controller ownerReference."""

    ref: Ref
    uid: str


@dataclass(slots=True, eq=False)
class Resource:
    """A view of one object; reads its Struct only where asked."""

    body: Struct
    _conditions: dict[str, str] | None = field(default=None, init=False, repr=False)

    @property
    def ref(self) -> Ref:
        """Where the object is; fields that are missing or of a wrong type read as empty."""
        api_version, kind = structs.texts(self.body, "apiVersion", "kind")
        return Ref(api_version, kind, *structs.named(self.body))

    @property
    def uid(self) -> str:
        """Its UID, unique over time."""
        return structs.text(self.body, "metadata", "uid")

    @property
    def ready(self) -> bool:
        """Whether its Ready condition is True."""
        return self.condition("Ready") == "True"

    def condition(self, kind: str) -> str:
        """Return the status of the condition of type `kind`: True, False or Unknown."""
        if self._conditions is None:
            self._conditions = structs.conditions(self.body)
        return self._conditions.get(kind, "Unknown")

    @property
    def composed_here(self) -> bool:
        """Whether this function composed it (see `model.COMPOSED_LABEL`)."""
        return structs.text(self.body, "metadata", "labels", COMPOSED_LABEL) == "true"

    @property
    def finalized(self) -> bool:
        """Whether it has a finalizer: somebody looks after it, and it does not vanish on a delete."""
        return len(structs.entries(structs.get(self.body, "metadata", "finalizers"))) > 0

    @property
    def in_use(self) -> bool:
        """Whether deletes of it are asked about: Crossplane's webhook looks only at what has this label."""
        return structs.text(self.body, "metadata", "labels", IN_USE_LABEL) == "true"

    @property
    def controller(self) -> Owner | None:
        """The owner that controls it. Owners share the object's namespace or have none."""
        for owner in structs.blocks(self.body, "metadata", "ownerReferences"):
            controls = structs.get(owner, "controller")
            if controls is not None and controls.bool_value:
                ref = Ref(*(structs.text(owner, f) for f in ("apiVersion", "kind", "name")))
                return Owner(ref, structs.text(owner, "uid"))
        return None

    @property
    def is_usage(self) -> bool:
        """Whether it is a Usage or a ClusterUsage."""
        api_version, kind = structs.texts(self.body, "apiVersion", "kind")
        return kind in ("Usage", "ClusterUsage") and api_version == PROTECTION

    def usage_end(self, end: str) -> Ref | None:
        """Return what a Usage names as `of` or `by`; None where a selector is unresolved or there is none."""
        found = structs.within(structs.within(self.body, "spec"), end)
        name, namespace = structs.texts(structs.within(found, "resourceRef"), "name", "namespace")
        if not name:
            return None
        api_version, kind = structs.texts(found, "apiVersion", "kind")
        return Ref(api_version, kind, name, namespace or structs.named(self.body)[1])

    def secrets(self) -> tuple[Secret, ...]:
        """Return what a cluster XR publishes as status.secrets; incomplete entries are left out."""
        entries = structs.blocks(self.body, "status", "secrets")
        found = [Secret(*structs.texts(entry, "type", "name", "key", "namespace")) for entry in entries]
        return tuple([s for s in found if s.kind and s.name and s.key])


@dataclass(frozen=True, slots=True)
class Observed:
    """The composed resources by key, and the required resources by the name of their lookup."""

    resources: Mapping[str, Resource]
    required: Mapping[str, Resources]
    _places: dict[Ref, Resource] = field(default_factory=dict, init=False, repr=False, compare=False)

    def get(self, key: str) -> Resource | None:
        """Return the composed resource `key`; None says that it is not observed, never that it is gone."""
        return self.resources.get(key)

    def at(self, ref: Ref) -> Resource | None:
        """Return the composed resource that is this object; None where it is none, or not observed."""
        if not self._places:  # while something is to be created, then it is asked for many
            self._places.update((resource.ref, resource) for resource in self.resources.values())
        return self._places.get(ref)

    def asked(self, name: str) -> bool:
        """Whether the answer to a lookup has arrived; before that an empty list means nothing."""
        return name in self.required

    def found(self, name: str) -> tuple[Resource, ...]:
        """Return what a lookup found; empty as well while it has not been asked."""
        return tuple([Resource(body) for body in self.bodies(name)])

    def bodies(self, name: str) -> list[Struct]:
        """Return what a lookup found as it stands, for where many are read."""
        if name not in self.required:  # reading a missing key of a message's map would add it
            return []
        return [item.resource for item in self.required[name].items]


def read(req: Request) -> Observed:
    """View the request's observed composed resources and its required resources."""
    return Observed(_views(req.observed.resources), req.required_resources)


def desired(req: Request) -> dict[str, Resource]:
    """View what the earlier steps of the pipeline desire, by key."""
    return _views(wire.state(req.desired).resources)


def _views(resources: Mapping[str, Given]) -> dict[str, Resource]:
    return {key: Resource(resources[key].resource) for key in resources}

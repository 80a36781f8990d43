"""Resources, objects and collections as the API server's paths name them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

Obj = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name of an object within its collection."""


def key_of(obj: Obj) -> Key:
    """Return an object's namespace and name."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as the API server's paths name it."""

    group: str
    version: str
    plural: str

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """Build the path of a collection, an object or a subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root, *(("namespaces", namespace) if namespace else ()), self.plural]
        parts += [part for part in (name, subresource) if part]
        return "/".join(quote(part, safe="/") if part is root else quote(part, safe="") for part in parts)


PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes")
SECRETS = Resource("", "v1", "secrets")
CONFIGMAPS = Resource("", "v1", "configmaps")
EVENTS = Resource("", "v1", "events")
LEASES = Resource("coordination.k8s.io", "v1", "leases")


@dataclass(frozen=True, slots=True)
class Ref:
    """One object: its resource, namespace and name."""

    resource: Resource
    namespace: str | None
    name: str

    def path(self, subresource: str | None = None) -> str:
        """Build the object's path."""
        return self.resource.path(self.namespace, self.name, subresource)


@dataclass(frozen=True, slots=True)
class Selection:
    """A collection and what of it: everywhere or one namespace, selectors, whole objects or metadata only."""

    resource: Resource
    namespace: str | None = None
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False

    def query(self, extra: Mapping[str, str]) -> str:
        """Build the path and query of a list or watch."""
        selectors = {"labelSelector": self.labels, "fieldSelector": self.fields, **extra}
        return self.resource.path(self.namespace) + "?" + urlencode({k: v for k, v in selectors.items() if v})

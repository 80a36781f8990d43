"""ModelRoutes in a Helm release's stored manifest. Pure: text in, route references out.

Hooks and a chart's `crds/` folder are not part of the stored manifest, so a ModelRoute made there is not
found; the README says so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

KIND = "ModelRoute"
PLURAL = "modelroutes"
GROUPS = ("routing.modelsphere.dev", "routing.gpucluster.io")
_SEPARATOR = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, order=True)
class Route:
    """One ModelRoute: where it lies and under which group and version the chart wrote it."""

    namespace: str
    name: str
    group: str
    version: str

    def __str__(self) -> str:
        """Name the route for people."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ManifestRoutes:
    """What a manifest says: its routes, sorted and each once, and how many documents could not be read."""

    routes: tuple[Route, ...]
    broken: int


def routes_from_manifest(manifest: str, namespace: str) -> ManifestRoutes:
    """Find every ModelRoute in a multi-document manifest.

    `namespace` is the release's, for routes that name none.

    A document that is not YAML, or a ModelRoute without a usable name, counts as broken and hides none of
    the others.
    """
    found: set[Route] = set()
    broken = 0
    for text in _SEPARATOR.split(manifest):
        try:
            found.update(_routes(yaml.load(text, Loader=_Loader), namespace))  # noqa: S506 - a safe loader
        except (yaml.YAMLError, ValueError):
            broken += 1
    return ManifestRoutes(tuple(sorted(found)), broken)


def _routes(document: object, namespace: str) -> Iterator[Route]:
    if not isinstance(document, dict):
        return
    items = document.get("items")
    if str(document.get("kind", "")).endswith("List") and isinstance(items, list):
        for item in items:
            yield from _routes(item, namespace)
    group, _, version = str(document.get("apiVersion", "")).partition("/")
    if document.get("kind") == KIND and group in GROUPS and version:
        yield _route(document, (group, version), namespace)


def _route(document: dict[str, object], api: tuple[str, str], namespace: str) -> Route:
    metadata = document.get("metadata")
    meta = metadata if isinstance(metadata, dict) else {}
    name, own = meta.get("name"), meta.get("namespace") or namespace
    if not (isinstance(name, str) and name and isinstance(own, str)):
        raise ValueError("a ModelRoute without a name")
    return Route(own, name, *api)

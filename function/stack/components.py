"""The table of components: data, checked once, with references into the composite filled in.

A text `$(spec.versions.certManager:v1.17.1)` stands for that field of the ServingStack, or for what follows
the colon where the field is not given; `$(name)` stands for its name. A text that is nothing but a reference
keeps the field's type, and the entry is left out where there is neither field nor default; inside a longer
text one of them must be there. A component that `needs` a field is left out where that is not given.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from function import order
from function.model import SpecError
from function.reading import Block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.settings import OperatorChart
    from function.structs import Plain

_REFERENCE = re.compile(r"\$\(([A-Za-z0-9_.\-]+)(?::([^)]*))?\)")
MAX_RELEASE_NAME = 53
_MISSING = object()
_WITHOUT_DELETE = ("Observe", "Create", "Update", "LateInitialize")


@dataclass(frozen=True, slots=True)
class Component:
    """One Release or Object of a ServingStack, references filled in.

    `outlives` names the components that must be gone before this one goes; they are created after it.
    """

    key: str
    kind: str
    outlives: tuple[str, ...]
    labels: Mapping[str, str]
    release_name: str
    spec: Mapping[str, Plain]


@functools.cache
def builtin() -> tuple[Block, ...]:
    """Return the table that ships with the function."""
    import yaml  # noqa: PLC0415 -- a tenth of the start of a process that may never need it

    text = importlib.resources.files(__package__).joinpath("components.yaml").read_text("utf-8")
    return tuple(Block.of("components", {"components": yaml.safe_load(text)}).blocks("components"))


@dataclass(frozen=True, slots=True)
class Registry:
    """Where every chart comes from instead of its own repository; an empty `url` leaves them alone.

    The chart of the LLMService controller stays where `operator` says: that place is no public one.
    """

    url: str = ""
    plain_http: bool = False
    operator: OperatorChart | None = None

    def place(self, chart: Block) -> tuple[str, bool]:
        """Return the repository that a chart is pulled from, and whether that is over plain HTTP."""
        if self.operator is not None and chart.text("repository", "") == self.operator.repository:
            return self.operator.repository, self.operator.plain_http
        return (self.url, self.plain_http) if self.url else (chart.text("repository"), False)


def resolve(
    table: tuple[Block, ...], facts: Mapping[str, Plain], registry: Registry
) -> tuple[Component, ...]:
    """Fill in the table for one ServingStack, in the table's order.

    Raises:
        SpecError: an entry is wrong, a name occurs twice, or `outlives` names no component or a circle.

    """
    wanted = [entry for entry in table if _is_wanted(entry, facts)]
    found = tuple(_component(Block.of(e.path, _fill(e.content, facts)), registry) for e in wanted)
    keys = [component.key for component in found]
    known = {entry.text("name") for entry in table}.union(keys)  # One that is left out may be named, too.
    for component in found:
        if keys.count(component.key) > 1:
            raise SpecError(f"components: {component.key!r} occurs twice; component names are unique")
        for other in component.outlives:
            if other not in known:
                raise SpecError(f"components: {component.key} outlives {other!r}, which is no component")
    if stuck := order.circle({component.key: component.outlives for component in found}):
        raise SpecError(f"components: {', '.join(stuck)} outlive each other; none could ever go")
    return found


def _is_wanted(entry: Block, facts: Mapping[str, Plain]) -> bool:
    return not entry.has("needs") or _find(entry.text("needs"), facts) is not _MISSING


def _component(entry: Block, registry: Registry) -> Component:
    kind = entry.one_of("kind", ("Release", "Object"))
    spec = _release(entry, registry) if kind == "Release" else _object(entry)
    labels = entry.block("labels").content
    return Component(
        key=entry.text("name"),
        kind=kind,
        outlives=entry.texts("outlives"),
        labels={name: str(value) for name, value in labels.items()},
        release_name=_release_name(entry) if kind == "Release" else "",
        spec=spec,
    )


def _release_name(entry: Block) -> str:
    """Return the Helm release's name: short whatever the cluster's is, and nobody else's by its prefix."""
    name = entry.text("releaseName", f"mp-{entry.block('chart').text('name')}")
    if len(name) > MAX_RELEASE_NAME:
        entry.fail("releaseName", f"{name!r} has {len(name)} characters; Helm allows {MAX_RELEASE_NAME}")
    return name


def _release(entry: Block, registry: Registry) -> dict[str, Plain]:
    chart = entry.block("chart")
    repository, plain_http = registry.place(chart)
    source: dict[str, Plain] = {"repository": repository}
    source |= {"name": chart.text("name"), "version": chart.text("version")}
    if chart.has("pullSecret"):
        source["pullSecretRef"] = {"name": chart.text("pullSecret")}
    provider: dict[str, Plain] = {"chart": source, "namespace": entry.text("namespace")}
    if entry.has("values"):
        provider["values"] = entry.block("values").content
    if plain_http:
        provider["plainHTTP"] = True
    return {"forProvider": provider}


def _object(entry: Block) -> dict[str, Plain]:
    if not entry.has("manifest"):
        entry.fail("manifest", "is required for a component of kind Object")
    spec: dict[str, Plain] = {"forProvider": {"manifest": entry.block("manifest").content}}
    if entry.has("readiness"):
        spec["readiness"] = {"policy": "DeriveFromCelQuery", "celQuery": entry.text("readiness")}
    if entry.flag("watch"):
        spec["watch"] = True
    if entry.flag("keep"):
        spec["managementPolicies"] = list(_WITHOUT_DELETE)
    return spec


def _fill(value: Plain, facts: Mapping[str, Plain]) -> Plain:
    match value:
        case str():
            return _fill_text(value, facts)
        case dict():
            filled = ((key, _fill(item, facts)) for key, item in value.items())
            return {key: item for key, item in filled if item is not _MISSING}
        case list():
            return [item for item in (_fill(entry, facts) for entry in value) if item is not _MISSING]
    return value


def _fill_text(value: str, facts: Mapping[str, Plain]) -> Plain:
    whole = _REFERENCE.fullmatch(value)
    if whole:
        return _look_up(whole, facts)
    return _REFERENCE.sub(lambda match: _required(match, facts), value)


def _required(match: re.Match[str], facts: Mapping[str, Plain]) -> str:
    found = _look_up(match, facts)
    if found is _MISSING or isinstance(found, (dict, list)):
        raise SpecError(f"components: {match[0]} is no text of this ServingStack")
    return str(found)


def _look_up(match: re.Match[str], facts: Mapping[str, Plain]) -> Plain:
    found = _find(match[1], facts)
    return found if found is not _MISSING or match[2] is None else match[2]


def _find(path: str, facts: Mapping[str, Plain]) -> Plain:
    found: Plain = facts
    for step in path.split("."):
        if not isinstance(found, dict) or found.get(step) is None:
            return _MISSING
        found = found[step]
    return found

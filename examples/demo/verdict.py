"""Was the order kept? Judged from what was installed and the DELETED events, never from the Usages. Pure.

Objects went in the order of the server's versions, which one counter gives to all kinds; times are for show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from examples.demo.objects import label, stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from controlplane.timeline import Event

Component = dict[str, Any]

_PROVIDERS = {"Release": "helm", "Object": "kubernetes"}


@dataclass(frozen=True, slots=True)
class Installed:
    """What has to go: the ServingStack's components, the services by namespace and name, in which stages."""

    table: Sequence[Component]
    services: Sequence[tuple[str, str]] = ()
    stages: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the verdict; `went` has the two events that decided it, where both happened."""

    claim: str
    holds: bool
    went: tuple[Event, Event] | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """Which objects a claim is about: of one kind, with one of these short names (none given: any).

    Meant is their deletion; with `stage`, that they reached it.
    """

    title: str
    kind: str
    labels: tuple[str, ...] = ()
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """All of `earlier` before any of `later`; they are called by these names, by default by their titles."""

    earlier: Sequence[Role]
    later: Sequence[Role]
    first: str = ""
    then: str = ""

    @property
    def text(self) -> str:
        """The claim in words."""
        return f"{self.first or self.earlier[0].title} before {self.then or self.later[0].title}"


_STACK = Role("the ServingStack", "ServingStack")
_CLUSTER = Role("the InferenceCluster", "InferenceCluster")
_CONFIG = Role("its ClusterProviderConfig", "ClusterProviderConfig")


def judge(installed: Installed, events: Sequence[Event], left: Sequence[str]) -> list[Row]:
    """Judge a teardown: `left` names what is still there."""
    rows = [_row(claim, events) for claim in _claims(installed)]
    if installed.stages:
        seen = _stages(events)
        rows.append(
            Row("the stages, each once, in order", seen == [*installed.stages], detail=", ".join(seen))
        )
    return [*rows, Row("nothing of it is left", not left, detail=", ".join(left))]


def kept(rows: Iterable[Row]) -> bool:
    """Whether every claim holds."""
    return all(row.holds for row in rows)


def _claims(installed: Installed) -> Iterator[Claim]:
    table = installed.table
    leaves = [_leaf(component) for component in table]
    if installed.services:
        yield from _services(installed.services, leaves)
    yield from _between(table)
    for component in table:
        yield Claim([_leaf(component)], [_config(component["kind"])])
    configs = [_config(kind) for kind in sorted({component["kind"] for component in table})]
    yield Claim([*leaves, *configs], [_STACK], "leaves and ProviderConfigs")
    yield Claim([_STACK], [_CLUSTER])
    if installed.stages:
        yield from _staged(installed, leaves)


def _services(services: Sequence[tuple[str, str]], leaves: Sequence[Role]) -> Iterator[Claim]:
    for at in services:
        yield Claim([_service(at)], [_carrier(at)])
    all_of_them = [role for at in services for role in (_service(at), _carrier(at))]
    yield Claim(all_of_them, leaves, "all services", "every component")
    yield Claim(all_of_them, [_STACK], "all services")


def _staged(installed: Installed, leaves: Sequence[Role]) -> Iterator[Claim]:
    _, stack, cluster, released = (
        Role(f"stage {name}", _CLUSTER.kind, stage=name) for name in installed.stages
    )
    services = [role for at in installed.services for role in (_service(at), _carrier(at))]
    yield Claim(services, [stack], "all services")
    yield Claim([_STACK, *leaves], [cluster], "ServingStack and leaves")
    yield Claim([_STACK], [_CONFIG])
    yield Claim([_CONFIG], [released])


def _between(table: Sequence[Component]) -> Iterator[Claim]:
    by_name = {component["name"]: component for component in table}
    for component in table:
        for other in component.get("outlives", ()):
            yield Claim([_leaf(by_name[other])], [_leaf(component)])


def _leaf(component: Component) -> Role:
    return Role(component["name"], component["kind"], (component["name"],))


def _config(kind: str) -> Role:
    return Role(f"ProviderConfig {_PROVIDERS[kind]}", "ProviderConfig", (_PROVIDERS[kind],))


def _service(at: tuple[str, str]) -> Role:
    return Role(f"LLMService {at[1]}", "LLMService", (at[1],))


def _carrier(at: tuple[str, str]) -> Role:
    return Role("the Object that carries it", "Object", (f"service-{at[0]}.{at[1]}",))


def _row(claim: Claim, events: Sequence[Event]) -> Row:
    missing = [role.title for role in (*claim.earlier, *claim.later) if not _of(role, events)]
    if missing:
        return Row(claim.text, holds=False, detail=f"never happened: {', '.join(missing)}")
    # The last of the earlier against the first of the later: what came back and went again counts each time.
    last = max(_all(claim.earlier, events), key=lambda event: event.version)
    first = min(_all(claim.later, events), key=lambda event: event.version)
    return Row(claim.text, last.version < first.version, (last, first))


def _all(roles: Sequence[Role], events: Sequence[Event]) -> list[Event]:
    return [event for role in roles for event in _of(role, events)]


def _of(role: Role, events: Sequence[Event]) -> list[Event]:
    return [
        event
        for event in events
        if event.ref.kind == role.kind
        and (_at(event) == role.stage if role.stage else event.type == "DELETED")
        and (not role.labels or label(event.object) in role.labels)
    ]


def _at(event: Event) -> str:
    found = stage(event.object)
    return found.name if found else ""


def _stages(events: Sequence[Event]) -> list[str]:
    """Return the InferenceCluster's stages in the order in which they began; one that came back, twice."""
    seen: list[str] = []
    for event in events:
        at = _at(event) if event.ref.kind == _CLUSTER.kind else ""
        if at and seen[-1:] != [at]:
            seen.append(at)
    return seen

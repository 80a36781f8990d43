"""The plan of a ServingStack.

Every leaf holds what it needs to finalize, directly: its ProviderConfig, the credentials, the cluster. A
chain would pay Crossplane's poll once a link. Only components that need one another are chained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import holding, names, order, structs
from function.model import (
    HELM,
    KUBERNETES,
    ORDERED,
    Condition,
    Edge,
    Leaf,
    Plan,
    ProviderConfig,
    Ref,
    Step,
)
from function.order import Role
from function.retire import retire
from function.stack import components as table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from function.observed import Observed
    from function.settings import OperatorChart, Settings
    from function.stack.components import Component
    from function.stack.spec import Stack
    from function.structs import Plain

# How soon Crossplane looks again until all is ready. Each new Usage is updated several times, and so many
# events open Crossplane's circuit breaker: it then drops what it watches for half a minute, but not this.
UNSETTLED_SECONDS = 5

PROVIDER_CONFIGS = {
    "Object": ("provider-config-kubernetes", KUBERNETES),
    "Release": ("provider-config-helm", HELM),
}


def plan(stack: Stack, observed: Observed, settings: Settings) -> Plan:
    """Plan one ServingStack.

    Raises:
        SpecError: the input cannot be planned; nothing may be composed from it.

    """
    made = Plan()
    config = names.stack_provider_config(stack.name)
    for key, api_version in PROVIDER_CONFIGS.values():
        content = ProviderConfig(api_version, config, stack.namespace, stack.credentials)
        made.add(Step(key, content, ready=True))
    given = settings.components if settings.components is not None else table.builtin()
    registry = table.Registry(settings.chart_registry, settings.plain_http, settings.operator_chart)
    components = table.resolve(given, {**stack.facts, **_placed(settings.operator_chart)}, registry)
    _components(made, stack, observed, components)
    _conclude(made, observed)
    retire(made, observed)
    return made


def _placed(operator: OperatorChart | None) -> dict[str, Plain]:
    """Return what the table may say of the controller's chart, nothing where it is published nowhere."""
    if operator is None:
        return {}
    chart = {"repository": operator.repository, "version": operator.version}
    return {"operatorChart": {**chart, "pullSecret": operator.pull_secret or None}}


def _components(made: Plan, stack: Stack, observed: Observed, components: tuple[Component, ...]) -> None:
    refs: dict[str, Ref] = {}
    for component in components:
        if _open(component, components, observed):
            found = observed.get(component.key)
            refs[component.key] = _ref(stack, component, found.ref.name if found else "")
    for component in components:
        if component.key not in refs:
            made.complete = False
            continue
        found = observed.get(component.key)
        leaf = _leaf(stack, component, refs[component.key])
        step = Step(component.key, leaf, ready=found is not None and found.ready)
        edges = [*_edges(stack, component.key, leaf.ref), *_between(component, components, refs)]
        made.complete &= holding.add(made, observed, step, edges, stack.namespace)


def _open(component: Component, components: tuple[Component, ...], observed: Observed) -> bool:
    """Whether the gate is open: what it needs is there, or it already exists."""
    if observed.get(component.key) is not None:
        return True
    if any(observed.get(key) is None for key, _ in PROVIDER_CONFIGS.values()):
        return False
    if Role.COMPONENT not in order.needed_first(Role.COMPONENT):
        return True
    needed = (other for other in components if component.key in other.outlives)
    return all((found := observed.get(other.key)) is not None and found.ready for other in needed)


def _ref(stack: Stack, component: Component, name: str) -> Ref:
    api_version = PROVIDER_CONFIGS[component.kind][1]
    return Ref(api_version, component.kind, name or names.child(stack.name, component.key), stack.namespace)


def _leaf(stack: Stack, component: Component, ref: Ref) -> Leaf:
    config = {"kind": "ProviderConfig", "name": names.stack_provider_config(stack.name)}
    spec = {"providerConfigRef": config, **component.spec}
    return Leaf(ref, spec, component.labels, component.release_name)


def _edges(stack: Stack, key: str, leaf: Ref) -> Iterator[Edge]:
    """Yield what one leaf holds for as long as it exists."""
    if order.holds(Role.PROVIDER_CONFIG, Role.LEAF):
        config = Ref(
            leaf.api_version, "ProviderConfig", names.stack_provider_config(stack.name), stack.namespace
        )
        yield Edge(f"usage-pc-{key}", config, leaf)
    if stack.cluster is not None and order.holds(Role.CLUSTER, Role.LEAF):
        yield Edge(f"usage-cluster-by-{key}", stack.cluster, leaf)
    if order.holds(Role.SECRET, Role.LEAF):
        for secret in stack.credentials.unowned(cluster_held=stack.cluster is not None):
            protected = Ref("v1", "Secret", secret.name, secret.namespace or stack.namespace)
            yield Edge(f"usage-secret-{secret.name}-by-{key}", protected, leaf)


def _between(component: Component, components: tuple[Component, ...], refs: dict[str, Ref]) -> Iterator[Edge]:
    """Yield what a component holds of the others: those that have to outlive it."""
    if not order.holds(Role.COMPONENT, Role.COMPONENT):
        return
    for other in components:
        if component.key in other.outlives and other.key in refs:
            yield Edge(f"usage-{other.key}-by-{component.key}", refs[other.key], refs[component.key])


def _conclude(made: Plan, observed: Observed) -> None:
    if not made.complete or not all(step.ready for step in made.steps.values()):
        made.ttl_seconds = UNSETTLED_SECONDS
    made.conclude(Condition(ORDERED, status=True, reason="UsagesComposed"))
    gateway = observed.get("gateway")
    if gateway is not None:
        at = structs.blocks(gateway.body, "status", "atProvider", "manifest", "status", "addresses")
        if at and (address := structs.text(at[0], "value")):
            made.status = {"gateway": {"address": address}}

"""The plan of an InferenceCluster.

Gates are one-way: what exists stays planned whatever has become of its predecessor, and what cannot be
rendered in this pass is planned again as it is observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from function import names, order, sources
from function.cluster import classes, guard, leaves, services, status
from function.model import (
    INFRASTRUCTURE,
    KUBERNETES,
    STACK,
    SYSTEM_NAMESPACE,
    ClusterXR,
    Credentials,
    Edge,
    Plan,
    ProviderConfig,
    Ref,
    ServingStack,
    Severity,
    Step,
    Usage,
)
from function.retire import keep, retire
from function.sources.base import KUBECONFIG

if TYPE_CHECKING:
    from function.observed import Observed, Resource
    from function.settings import Settings
    from function.sources.base import Provisioned, Source
    from function.spec import InferenceCluster

PROVIDER_CONFIG = "cluster-provider-config-kubernetes"


@dataclass(frozen=True, slots=True)
class _Cluster:
    """What is known of the cluster itself in this pass."""

    ready: bool
    credentials: Credentials | None
    xr: Resource | None = None


def plan(spec: InferenceCluster, observed: Observed, settings: Settings) -> Plan:
    """Plan one InferenceCluster.

    Raises:
        SpecError: the input cannot be planned; nothing may be composed from it.

    """
    source = sources.by_name(spec.source)
    made = Plan(ttl_seconds=10)  # Crossplane does not watch the consumers; it looks again this often
    guard.add(made, spec.name, observed, settings)
    found = classes.fetch(made, spec, observed)
    cluster = _cluster(made, spec, observed, source, found)
    _provider_config(made, spec, observed, source, cluster)
    _stack(made, spec, observed, source, cluster)
    if source.provisioned is not None:
        _usage_by_stack(made, source.provisioned)
    leaves.hold(made, spec, observed, cluster.xr, cluster.credentials)
    services.add(made, spec, observed, cluster.credentials, _held(source, spec))
    made.complete = STACK in made.steps
    status.conclude(made, spec, observed, source, found, ready=cluster.ready)
    retire(made, observed)
    return made


def _cluster(
    made: Plan, spec: InferenceCluster, observed: Observed, source: Source, found: classes.Classes
) -> _Cluster:
    if source.reach is not None:
        return _Cluster(ready=True, credentials=source.reach(spec.cluster))
    provisioned = _provisioned(source)
    xr = observed.get(provisioned.key)
    ready = xr is not None and xr.ready
    fields = provisioned.spec(spec.cluster.block(provisioned.block))
    if (wanted := classes.pools(made, spec, provisioned, found)) is not None:
        content = ClusterXR(provisioned.kind, spec.name, {**fields, "nodePools": wanted})
        made.add(Step(provisioned.key, content, ready=ready))
    else:
        keep(made, observed, provisioned.key)
    return _Cluster(ready, _published(xr, provisioned) if ready and xr is not None else None, xr)


def _provisioned(source: Source) -> Provisioned:
    if source.provisioned is None:
        raise AssertionError(f"the source {source.name} neither provisions nor reaches a cluster")
    return source.provisioned


def _published(xr: Resource, provisioned: Provisioned) -> Credentials | None:
    secrets = xr.secrets()
    kubeconfig = next((s for s in secrets if s.kind == KUBECONFIG), None)
    if kubeconfig is None:
        return None
    identity = next((s for s in secrets if provisioned.identity and s.kind == provisioned.identity), None)
    return Credentials(kubeconfig, identity, secrets)


def _provider_config(
    made: Plan, spec: InferenceCluster, observed: Observed, source: Source, cluster: _Cluster
) -> None:
    if cluster.credentials is None:
        keep(made, observed, PROVIDER_CONFIG, ready=True)
        return
    name = names.provider_config(spec.name)
    made.add(Step(PROVIDER_CONFIG, ProviderConfig(KUBERNETES, name, "", cluster.credentials), ready=True))
    if source.provisioned is not None and observed.get(STACK) is None:
        made.say(Severity.NORMAL, f"{source.provisioned.title} cluster ready, composing backend")


def _stack(made: Plan, spec: InferenceCluster, observed: Observed, source: Source, cluster: _Cluster) -> None:
    exists = observed.get(STACK)
    if cluster.credentials is None:
        keep(made, observed, STACK)
        return
    provisioned = source.provisioned
    content = ServingStack(
        name=names.serving_stack(spec.name),
        credentials=cluster.credentials,
        driver_root=provisioned.driver_root if provisioned else "",
        cluster=_held(source, spec),
    )
    made.add(Step(STACK, content, ready=exists is not None and exists.ready))


def _held(source: Source, spec: InferenceCluster) -> Ref | None:
    """Return the cluster XR that consumers hold, None where the cluster was there before."""
    if source.provisioned is None:
        return None
    return Ref(INFRASTRUCTURE, source.provisioned.kind, spec.name, SYSTEM_NAMESPACE)


def _usage_by_stack(made: Plan, provisioned: Provisioned) -> None:
    if STACK not in made.steps or not order.holds(order.Role.CLUSTER, order.Role.STACK):
        return
    edge = Edge(
        provisioned.usage_key,
        Ref(INFRASTRUCTURE, provisioned.kind, ""),
        Ref(INFRASTRUCTURE, "ServingStack", ""),
        by_controller=True,
    )
    made.add(Step(provisioned.usage_key, Usage(edge, SYSTEM_NAMESPACE), ready=True))

"""The status and conditions of an InferenceCluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import names, serving, structs
from function import spec as reader
from function.cluster import service_status
from function.model import STACK, SYSTEM_NAMESPACE, Condition, Plan

if TYPE_CHECKING:
    from function.cluster.classes import Classes
    from function.observed import Observed
    from function.sources.base import Source
    from function.spec import InferenceCluster
    from function.structs import Plain


def conclude(  # noqa: PLR0913 -- the status is the one place where everything meets
    made: Plan, spec: InferenceCluster, observed: Observed, source: Source, classes: Classes, *, ready: bool
) -> None:
    """Write status and conditions; a reason that an earlier stage gave for ClusterReady stands."""
    made.status = {
        "providerConfigRef": {"name": names.provider_config(spec.name)},
        "namespace": SYSTEM_NAMESPACE,
        "gpuPools": _gpu_pools(spec, classes),
        **_cache(spec, observed, source),
        **_gateway(observed),
    }
    if "ClusterReady" not in made.conditions:
        reason = "ClusterRunning" if ready else "Provisioning"
        made.conclude(Condition("ClusterReady", status=ready, reason=reason))
    made.conclude(_backend(observed, cluster_ready=ready))
    if spec.declares_services:
        _services(made, spec, observed)


def _services(made: Plan, spec: InferenceCluster, observed: Observed) -> None:
    listed = {(service.namespace, service.name) for service in spec.services}
    carriers = {at: observed.get(serving.key(*at)) for at in listed}
    gone = service_status.departed(made, observed, spec.name, spec.published_services, listed)
    found = {**carriers, **gone}
    service_status.conclude(made, (service_status.entry(at, found[at]) for at in sorted(found)))


def _backend(observed: Observed, *, cluster_ready: bool) -> Condition:
    stack = observed.get(STACK)
    ready = stack is not None and stack.ready
    waiting = "Installing" if cluster_ready else "WaitingForCluster"
    reason = "BackendHealthy" if ready else waiting
    return Condition("BackendReady", status=ready, reason=reason)


def _gpu_pools(spec: InferenceCluster, classes: Classes) -> list[Plain]:
    entries: list[Plain] = []
    for pool in spec.pools:
        found = classes.found.get(pool.class_name)
        # A class that went away takes no capacity from the scheduler: the pool is still there.
        devices = reader.devices(found) if found is not None else spec.published.get(pool.name)
        if devices:
            entries.append({"name": pool.name, "nodes": pool.most_nodes, "devices": devices})
    return entries


def _cache(spec: InferenceCluster, observed: Observed, source: Source) -> dict[str, Plain]:
    if source.provisioned is not None:
        xr = observed.get(source.provisioned.key)
        name = structs.text(xr.body, "status", "cache", "storageClassName") if xr else ""
    else:
        name = source.storage_class(spec.cluster)
    return {"cache": {"storageClassName": name}} if name else {}


def _gateway(observed: Observed) -> dict[str, Plain]:
    stack = observed.get(STACK)
    address = structs.text(stack.body, "status", "gateway", "address") if stack else ""
    return {"gateway": {"address": address}} if address else {}

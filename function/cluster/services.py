"""Plans the LLMServices of an InferenceCluster: one Object each, and one for each of their namespaces.

An Object is deleted with its LLMService, whose own staged teardown it waits for. So it holds everything that
teardown needs: the ServingStack (it brings the controller), the ProviderConfig, the credentials, the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from function import holding, names, order, serving
from function.model import (
    INFRASTRUCTURE,
    KUBERNETES,
    STACK,
    SYSTEM_NAMESPACE,
    Edge,
    Leaf,
    ProviderConfig,
    Ref,
    Step,
)
from function.order import Role
from function.retire import keep, protected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from function.model import Credentials, Plan
    from function.observed import Observed
    from function.serving import Service
    from function.spec import InferenceCluster
    from function.structs import Plain

CONFIG = "provider-config-services"

# The key of every Usage of it starts so.
_USAGE_KEY = "usage-pc-"

# A namespace may hold more than the service: it is made sure of, and never deleted.
_WITHOUT_DELETE: list[Plain] = ["Observe", "Create", "Update", "LateInitialize"]

# The controller has seen the latest spec and says that the release is installed.
_READY = (
    "has(object.status) && has(object.status.phase) && object.status.phase == 'Ready' && "
    "has(object.status.observedGeneration) && object.status.observedGeneration == object.metadata.generation"
)


@dataclass(frozen=True, slots=True)
class _Reach:
    """How the cluster is reached; `cluster` is its XR, None where there is none."""

    credentials: Credentials
    cluster: Ref | None


def add(
    made: Plan,
    spec: InferenceCluster,
    observed: Observed,
    credentials: Credentials | None,
    cluster: Ref | None,
) -> None:
    """Plan what the services need, and each service whose gate is open.

    `credentials` is None while the cluster cannot be reached: then what exists stays as it is. `cluster` is
    the cluster XR, None where there is none.
    """
    if credentials is None:
        for key in observed.resources:
            if key == CONFIG or serving.is_service_key(key):
                keep(made, observed, key, ready=True)
        return
    config = config_ref(spec.name)
    users = any(key.startswith(_USAGE_KEY) for key in observed.resources)
    if spec.services or (users and protected(observed, config)):
        content = ProviderConfig(KUBERNETES, config.name, config.namespace, credentials)
        made.add(Step(CONFIG, content, ready=True))
    for namespace in sorted({service.namespace for service in spec.services}):
        _namespace(made, spec, observed, namespace)
    for service in spec.services:
        if _open(observed, service):
            _service(made, spec, observed, _Reach(credentials, cluster), service)


def config_ref(cluster: str) -> Ref:
    """Return the ProviderConfig of the services of an InferenceCluster."""
    return Ref(KUBERNETES, "ProviderConfig", names.services_provider_config(cluster), SYSTEM_NAMESPACE)


def object_ref(cluster: str, key: str) -> Ref:
    """Return the Object that carries a service or a namespace."""
    return Ref(KUBERNETES, "Object", names.child(cluster, key), SYSTEM_NAMESPACE)


def _open(observed: Observed, service: Service) -> bool:
    """Whether the gate is open: what the service needs is there, or its Object already exists."""
    if observed.get(serving.key(service.namespace, service.name)) is not None:
        return True
    if not _needed(observed):
        return False
    namespace = observed.get(serving.namespace_key(service.namespace))
    # Without its namespace an LLMService cannot be created, and provider-kubernetes backs off.
    return namespace is not None and namespace.ready


def _needed(observed: Observed) -> bool:
    stack = observed.get(STACK)
    stack_up = Role.STACK not in order.needed_first(Role.SERVICE) or (stack is not None and stack.ready)
    return stack_up and observed.get(CONFIG) is not None


def _namespace(made: Plan, spec: InferenceCluster, observed: Observed, namespace: str) -> None:
    key = serving.namespace_key(namespace)
    if observed.get(key) is None and not _needed(observed):
        return
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    leaf = _leaf(
        spec.name, key, {"forProvider": {"manifest": manifest}, "managementPolicies": _WITHOUT_DELETE}
    )
    edges = [Edge(f"{_USAGE_KEY}{key}", config_ref(spec.name), leaf.ref)]
    holding.add(made, observed, Step(key, leaf, ready=True), edges, SYSTEM_NAMESPACE)


def _service(made: Plan, spec: InferenceCluster, observed: Observed, reach: _Reach, service: Service) -> None:
    key = serving.key(service.namespace, service.name)
    readiness = {"policy": "DeriveFromCelQuery", "celQuery": _READY}
    # Looking now and then would notice the end of a teardown up to a minute late.
    content = {"forProvider": {"manifest": dict(service.manifest)}, "readiness": readiness, "watch": True}
    leaf = _leaf(spec.name, key, content)
    # A service that is not ready does not hold back the InferenceCluster: ServicesReady tells.
    edges = list(_edges(spec.name, reach, key, leaf.ref))
    holding.add(made, observed, Step(key, leaf, ready=True), edges, SYSTEM_NAMESPACE)


def _leaf(cluster: str, key: str, spec: dict[str, Plain]) -> Leaf:
    ref = object_ref(cluster, key)
    config = {"kind": "ProviderConfig", "name": config_ref(cluster).name}
    return Leaf(ref, {"providerConfigRef": config, **spec})


def _edges(name: str, reach: _Reach, key: str, leaf: Ref) -> Iterator[Edge]:
    """Yield what one service holds for as long as its Object exists."""
    if order.holds(Role.PROVIDER_CONFIG, Role.SERVICE):
        yield Edge(f"{_USAGE_KEY}{key}", config_ref(name), leaf)
    if order.holds(Role.STACK, Role.SERVICE):
        stack = Ref(INFRASTRUCTURE, "ServingStack", names.serving_stack(name), SYSTEM_NAMESPACE)
        yield Edge(f"usage-stack-by-{key}", stack, leaf)
    if reach.cluster is not None and order.holds(Role.CLUSTER, Role.SERVICE):
        yield Edge(f"usage-cluster-by-{key}", reach.cluster, leaf)
    if order.holds(Role.SECRET, Role.SERVICE):
        for secret in reach.credentials.unowned(cluster_held=reach.cluster is not None):
            protected_secret = Ref("v1", "Secret", secret.name, secret.namespace or SYSTEM_NAMESPACE)
            yield Edge(f"usage-secret-{secret.name}-by-{key}", protected_secret, leaf)

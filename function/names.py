"""Deterministic names of composed objects; the same ones as Modelplane's where it has them."""

from __future__ import annotations

import functools
import hashlib

from crossplane.function import resource


@functools.lru_cache(maxsize=1024)
def provider_config(cluster: str) -> str:
    """Name the ClusterProviderConfig of an InferenceCluster."""
    return resource.child_name(cluster, "cluster-kubeconfig")


@functools.lru_cache(maxsize=1024)
def serving_stack(cluster: str) -> str:
    """Name the ServingStack of an InferenceCluster."""
    return resource.child_name(cluster, "serving-stack")


@functools.lru_cache(maxsize=1024)
def stack_provider_config(stack: str) -> str:
    """Name the two ProviderConfigs of a ServingStack."""
    return resource.child_name(stack, "cluster")


@functools.lru_cache(maxsize=1024)
def services_provider_config(cluster: str) -> str:
    """Name the ProviderConfig of the services of an InferenceCluster."""
    return resource.child_name(cluster, "services")


@functools.lru_cache(maxsize=1024)
def child(composite: str, key: str) -> str:
    """Name the composed resource `key` of a composite; at most 63 characters, ending in a hash."""
    return resource.child_name(composite, key)


def digest(namespace: str, name: str) -> str:
    """Return eight characters that tell an object from all others of its kind."""
    return hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()[:8]

"""Holds each ProviderConfig by every Release and Object that uses it, as Modelplane's compose-usages does.

One Usage a consumer: a selector resolves to its first match only, so each consumer has a label of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import structs
from function.late.pairs import label_value
from function.model import USAGE_CONSUMER_LABEL, Edge, Ref, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from function.late.pairs import Pipeline
    from function.observed import Resource

# Consumers by group and kind. The value is the apiVersion of their ProviderConfigs, empty where it is the
# consumer's own. Those without ".m" are the cluster-scoped kinds of Crossplane v1.
_CONSUMERS = {
    ("helm.m.crossplane.io", "Release"): "",
    ("kubernetes.m.crossplane.io", "Object"): "",
    ("helm.crossplane.io", "Release"): "",
    ("kubernetes.crossplane.io", "Object"): "kubernetes.crossplane.io/v1alpha1",
}

# The key of a consumer's Usage is this and the consumer's own key, as in Modelplane.
KEY = "usage-pc-"

_CONFIG, _CLUSTER_CONFIG = "ProviderConfig", "ClusterProviderConfig"

Named = tuple[str, str, str]  # API group, kind and name of a provider's configuration


def hold(pipeline: Pipeline, resources: Mapping[str, Resource]) -> None:
    """Plan a Usage of its ProviderConfig for each consumer among `resources` that is observed."""
    there = {_named(r.ref) for r in pipeline.observed.resources.values() if _is_config(r)}
    for key, config, by in _uses(pipeline, resources):
        if config.kind == _CONFIG:
            label = _label(resources[key], key)
            if pipeline.protect(Edge(f"{KEY}{key}", config, by, by_label=label)) and label:
                pipeline.made.stamps[key] = {USAGE_CONSUMER_LABEL: label}
        elif _named(config) in there:  # one that is not composed here is somebody else's to keep
            why = "no Usage can relate a cluster-scoped object to a namespaced one; use a ProviderConfig"
            pipeline.made.say(Severity.WARNING, f"{config} is not kept until {by} is gone: {why}")


def note(pipeline: Pipeline) -> None:
    """Note who uses what among all that is observed: no pair of the input may go against it."""
    for _, config, by in _uses(pipeline, pipeline.observed.resources):
        pipeline.waits.setdefault(config, set()).add(by)


def _uses(pipeline: Pipeline, resources: Mapping[str, Resource]) -> Iterator[tuple[str, Ref, Ref]]:
    """Yield key, configuration and consumer, unless the configuration is one that is still to come."""
    awaited = {
        _named(wanted.ref)
        for key, wanted in pipeline.desired.items()
        if _is_config(wanted) and pipeline.observed.get(key) is None
    }
    for key, wanted in sorted(resources.items(), key=lambda item: item[0]):
        user, ref = pipeline.observed.get(key), wanted.ref
        api_version = _CONSUMERS.get((_group(ref.api_version), ref.kind))
        if api_version is None or user is None or not user.ref.name:
            continue
        config = _used(wanted, user, api_version or ref.api_version)
        if config is not None and _named(config) not in awaited:
            yield key, config, Ref(ref.api_version, ref.kind, user.ref.name, user.ref.namespace)


def _used(wanted: Resource, user: Resource, api_version: str) -> Ref | None:
    """Return the configuration that a consumer names, as desired or else as the API server defaulted it."""
    path = ("spec", "providerConfigRef")
    name = structs.text(wanted.body, *path, "name") or structs.text(user.body, *path, "name")
    kind = structs.text(wanted.body, *path, "kind") or structs.text(user.body, *path, "kind") or _CONFIG
    if not name or kind not in (_CONFIG, _CLUSTER_CONFIG):
        return None
    return Ref(api_version, kind, name, user.ref.namespace if kind == _CONFIG else "")


def _label(wanted: Resource, key: str) -> str:
    """Return the label's value, or nothing where it cannot be set without changing what is desired."""
    value = label_value(key)
    for path in (("metadata",), ("metadata", "labels")):
        found = structs.get(wanted.body, *path)
        if found is not None and not found.HasField("struct_value"):
            return ""
    standing = structs.get(wanted.body, "metadata", "labels", USAGE_CONSUMER_LABEL)
    return value if standing is None or standing.string_value == value else ""


def _is_config(resource: Resource) -> bool:
    return structs.text(resource.body, "kind") in (_CONFIG, _CLUSTER_CONFIG)


def _named(ref: Ref) -> Named:
    return _group(ref.api_version), ref.kind, ref.name


def _group(api_version: str) -> str:
    return api_version.partition("/")[0]

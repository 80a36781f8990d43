"""Renders each planned step as the manifest that is sent to Crossplane.

A manifest holds exactly the fields that this function has an opinion about: Crossplane applies it server-side
and removes what a later one leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import structs
from function.model import (
    CLUSTER_ANNOTATION,
    COMPOSED_LABEL,
    EARLIER_ANNOTATION,
    INFRASTRUCTURE,
    PROTECTION,
    SYSTEM_NAMESPACE,
    USAGE_CONSUMER_LABEL,
    USERS_ANNOTATION,
    Carried,
    ClusterXR,
    Guard,
    Leaf,
    ProviderConfig,
    ServingStack,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.model import Content, Edge, Ref, Secret
    from function.structs import Plain
    from function.wire import Struct

Manifest = dict[str, "Plain"]

_OURS = {COMPOSED_LABEL: "true"}


def render(content: Content) -> Manifest:  # noqa: PLR0911 -- one line a kind of content
    """Return the manifest of one step."""
    match content:
        case ClusterXR():
            meta = _metadata(content.name, SYSTEM_NAMESPACE)
            return _manifest(INFRASTRUCTURE, content.kind, meta, content.spec)
        case ServingStack():
            return _serving_stack(content)
        case ProviderConfig():
            return _provider_config(content)
        case Leaf():
            return _leaf(content)
        case Usage():
            return _usage(content)
        case Guard():
            return _guard(content)
        case Carried():
            return _carried(content)


def _manifest(api_version: str, kind: str, metadata: Manifest, spec: Mapping[str, Plain]) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def _metadata(name: str = "", namespace: str = "", labels: Mapping[str, str] | None = None) -> Manifest:
    metadata: Manifest = {"labels": {**(labels or {}), **_OURS}}
    if name:
        metadata["name"] = name
    if namespace:
        metadata["namespace"] = namespace
    return metadata


def _serving_stack(stack: ServingStack) -> Manifest:
    spec: Manifest = {}
    if stack.credentials.injected:
        spec["identity"] = "InjectedIdentity"
    else:
        spec["secrets"] = [_secret_entry(secret) for secret in stack.credentials.secrets]
    if stack.driver_root:
        spec["nvidiaDriverRoot"] = stack.driver_root
    metadata = _metadata(stack.name, SYSTEM_NAMESPACE)
    if (cluster := stack.cluster) is not None:
        written = f"{cluster.api_version} {cluster.kind} {cluster.name}"
        metadata["annotations"] = {CLUSTER_ANNOTATION: written}
    return _manifest(INFRASTRUCTURE, "ServingStack", metadata, spec)


def _secret_entry(secret: Secret) -> Manifest:
    entry = {"type": secret.kind, "name": secret.name, "key": secret.key}
    return {**entry, "namespace": secret.namespace} if secret.namespace else entry


def _provider_config(config: ProviderConfig) -> Manifest:
    kind = "ProviderConfig" if config.namespace else "ClusterProviderConfig"
    home = config.namespace or SYSTEM_NAMESPACE
    kubeconfig, identity = config.credentials.kubeconfig, config.credentials.identity
    if kubeconfig is None:
        spec: Manifest = {"credentials": {"source": "InjectedIdentity"}}
    else:
        spec = {"credentials": {"source": "Secret", "secretRef": _secret_ref(kubeconfig, home)}}
    if identity is not None:
        ref = _secret_ref(identity, home)
        spec["identity"] = {"type": identity.kind, "source": "Secret", "secretRef": ref}
    return _manifest(config.api_version, kind, _metadata(config.name, config.namespace), spec)


def _secret_ref(secret: Secret, namespace: str) -> Manifest:
    return {"namespace": secret.namespace or namespace, "name": secret.name, "key": secret.key}


def _leaf(leaf: Leaf) -> Manifest:
    metadata = _metadata(leaf.ref.name, leaf.ref.namespace, leaf.labels)
    if leaf.release_name:
        metadata["annotations"] = {"crossplane.io/external-name": leaf.release_name}
    return _manifest(leaf.ref.api_version, leaf.ref.kind, metadata, leaf.spec)


def _usage(usage: Usage) -> Manifest:
    edge = usage.edge
    spec: Manifest = {
        "of": _end(edge.protected, usage.namespace, by_controller=edge.by_controller),
        "by": _by(edge, usage.namespace),
        "replayDeletion": usage.replay,
    }
    kind = "Usage" if usage.namespace else "ClusterUsage"
    return _manifest(PROTECTION, kind, _metadata(namespace=usage.namespace), spec)


def _by(edge: Edge, namespace: str) -> Manifest:
    if not edge.by_label:
        return _end(edge.until_gone, namespace, by_controller=edge.by_controller)
    selector = {"matchControllerRef": True, "matchLabels": {USAGE_CONSUMER_LABEL: edge.by_label}}
    user = edge.until_gone
    return {"apiVersion": user.api_version, "kind": user.kind, "resourceSelector": selector}


def _end(ref: Ref, namespace: str, *, by_controller: bool) -> Manifest:
    end: Manifest = {"apiVersion": ref.api_version, "kind": ref.kind}
    if by_controller:
        return {**end, "resourceSelector": {"matchControllerRef": True}}
    named = {"name": ref.name}
    if ref.namespace != namespace:
        named["namespace"] = ref.namespace
    return {**end, "resourceRef": named}


def _guard(guard: Guard) -> Manifest:
    ref = guard.protected
    of = {"apiVersion": ref.api_version, "kind": ref.kind, "resourceRef": {"name": ref.name}}
    metadata = _metadata()
    annotations = {USERS_ANNOTATION: " ".join(guard.users), EARLIER_ANNOTATION: guard.earlier}
    if written := {name: text for name, text in annotations.items() if text}:
        metadata["annotations"] = written
    spec = {"of": of, "reason": guard.reason, "replayDeletion": True}
    return _manifest(PROTECTION, "ClusterUsage", metadata, spec)


def _carried(carried: Carried) -> Manifest:
    body = carried.body
    metadata: Manifest = {
        field: structs.text(body, "metadata", field)
        for field in ("name", "namespace")
        if structs.text(body, "metadata", field)
    }
    for field in ("labels", "annotations"):
        if kept := _not_crossplanes(body, field):
            metadata[field] = kept
    # A ConfigMap or a Secret has no spec, and loses what a later manifest leaves out.
    content = {k: structs.plain(v) for k, v in body.fields.items() if k not in ("metadata", "status")}
    spec = content.get("spec")
    if isinstance(spec, dict):
        # Crossplane's own part of an XR: written back it would undo what the XR has composed meanwhile.
        ours = {k: v for k, v in spec.items() if k != "crossplane"}
        content["spec"] = {**ours, **carried.overlay.get("spec", {})}
    return {**content, "metadata": metadata}


def _not_crossplanes(body: Struct, field: str) -> Manifest:
    """Return the labels or annotations that composed resources are not given by Crossplane itself."""
    found = structs.block(body, "metadata", field)
    entries = structs.plain_block(found) if found is not None else {}
    return {
        key: value
        for key, value in entries.items()
        if isinstance(value, str) and ("crossplane.io/" not in key or key == "crossplane.io/external-name")
    }

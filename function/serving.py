"""Parses spec.services: the LLMServices that run on an InferenceCluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from function import structs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.reading import Block
    from function.structs import Plain
    from function.wire import Struct

SERVICE_API = "serving.modelsphere.dev/v1alpha1"

# More than this and one InferenceCluster would be larger than what etcd stores: the XRD's own limit.
MAX_SERVICES = 64

# Helm's own limit on the name of a release, which is the LLMService's.
MAX_NAME = 53

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_POLICY_ANNOTATION = "serving.modelsphere.dev/deletion-policy"
_KNOBS = ("maxWait", "routeSettle", "forceDeleteAfter")
_PASSED_ON = ("chart", "values", "valuesFrom", "suspend", "serviceAccountName")


At = tuple[str, str]
"""Namespace and name of an LLMService."""


@dataclass(frozen=True, slots=True)
class Service:
    """One LLMService; `manifest` is what is applied on the cluster, whole."""

    namespace: str
    name: str
    manifest: Mapping[str, Plain]


def key(namespace: str, name: str) -> str:
    """Return the key of the Object that carries a service; namespaces hold no dots, so it is unique."""
    return f"service-{namespace}.{name}"


def namespace_key(namespace: str) -> str:
    """Return the key of the Object that makes sure of a namespace."""
    return f"services-namespace-{namespace}"


def is_service_key(composed: str) -> bool:
    """Whether a composed resource carries a service or a namespace of services."""
    return composed.startswith(("service-", "services-namespace-"))


def parse(spec: Block) -> tuple[Service, ...]:
    """Return the services by namespace and name.

    Raises:
        SpecError: an entry cannot be planned, or two share namespace and name.

    """
    defaults = spec.block("deletion")
    found: dict[tuple[str, str], Service] = {}
    for entry in spec.blocks("services"):
        service = _service(entry, defaults)
        if (service.namespace, service.name) in found:
            spec.fail("services", f"names {service.namespace}/{service.name} twice; each may occur once")
        found[service.namespace, service.name] = service
    if len(found) > MAX_SERVICES:
        spec.fail("services", f"has {len(found)} entries; at most {MAX_SERVICES} are allowed")
    return tuple(found[at] for at in sorted(found))


def published(composite: Struct) -> dict[At, Mapping[str, Plain]]:
    """Return the entries of status.services as they stand."""
    entries = (structs.plain_block(entry) for entry in structs.blocks(composite, "status", "services"))
    return {
        (entry["namespace"], entry["name"]): entry
        for entry in entries
        if isinstance(entry.get("namespace"), str) and isinstance(entry.get("name"), str)
    }


def _service(entry: Block, defaults: Block) -> Service:
    namespace, name = _label(entry, "namespace", 63), _label(entry, "name", MAX_NAME)
    chart = entry.block("chart")
    chart.text("name")
    chart.text("version")
    if chart.has("repository") == chart.has("oci"):
        entry.fail("chart", "needs exactly one of repository and oci")
    spec: dict[str, Plain] = {field: entry.content[field] for field in _PASSED_ON if entry.has(field)}
    deletion = entry.block("deletion")
    if knobs := _knobs(deletion, defaults):
        spec["deletion"] = knobs
    metadata: dict[str, Plain] = {"name": name, "namespace": namespace}
    if deletion.has("policy"):
        metadata["annotations"] = {_POLICY_ANNOTATION: deletion.one_of("policy", ("Orphan",))}
    manifest = {"apiVersion": SERVICE_API, "kind": "LLMService", "metadata": metadata, "spec": spec}
    return Service(namespace, name, manifest)


def _knobs(own: Block, defaults: Block) -> dict[str, Plain]:
    texts = {knob: own.text(knob, "") or defaults.text(knob, "") for knob in _KNOBS}
    return {knob: text for knob, text in texts.items() if text}


def _label(entry: Block, field: str, longest: int) -> str:
    found = entry.text(field)
    if len(found) > longest or not _LABEL.fullmatch(found):
        entry.fail(field, f"must be 1 to {longest} of a-z, 0-9 and -, not {found[:80]!r}")
    return found

"""Parses a ServingStack into frozen values, or raises SpecError."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from function import names, structs
from function.model import CLUSTER_ANNOTATION, Credentials, Ref, Secret, SpecError
from function.reading import Block
from function.sources.base import KUBECONFIG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.structs import Plain
    from function.wire import Struct

INJECTED = "InjectedIdentity"

# Where the DRA driver's chart looks by itself; only another root is passed on.
_DRIVER_ROOT = "/"

_LISTENERS: list[Plain] = [{"name": "http", "protocol": "HTTP", "port": 80}]


@dataclass(frozen=True, slots=True)
class Stack:
    """What a ServingStack asks for.

    `cluster` is the cluster XR that the leaves hold, None where there is none. `facts` are the fields that
    the component table may refer to.
    """

    name: str
    namespace: str
    credentials: Credentials
    cluster: Ref | None
    facts: Mapping[str, Plain]


def parse(composite: Struct) -> Stack:
    """Parse the observed composite.

    Raises:
        SpecError: it cannot be planned; the message names the field.

    """
    name, namespace = (structs.text(composite, "metadata", field) for field in ("name", "namespace"))
    if not name or not namespace:
        raise SpecError("metadata.name and metadata.namespace are required: a ServingStack is namespaced")
    spec = Block.of("spec", structs.plain(structs.get(composite, "spec")))
    return Stack(
        name=name,
        namespace=namespace,
        credentials=_credentials(spec),
        cluster=_cluster(structs.text(composite, "metadata", "annotations", CLUSTER_ANNOTATION), namespace),
        facts=_facts(name, namespace, spec),
    )


def _facts(name: str, namespace: str, spec: Block) -> dict[str, Plain]:
    root = spec.text("nvidiaDriverRoot", _DRIVER_ROOT)
    return {
        "name": name,
        "namespace": namespace,
        "hash": names.digest(namespace, name),
        "spec": spec.content,
        "listeners": _listeners(spec),
        "driverRoot": root if root != _DRIVER_ROOT else None,
    }


def _credentials(spec: Block) -> Credentials:
    secrets = tuple(_secret(entry) for entry in spec.blocks("secrets"))
    injected = spec.one_of("identity", (INJECTED,), INJECTED) if spec.has("identity") else ""
    if bool(secrets) == bool(injected):
        spec.fail("secrets", f"or spec.identity: {INJECTED} is required, exactly one of them")
    if injected:
        return Credentials()
    kubeconfig = next((s for s in secrets if s.kind == KUBECONFIG), None)
    if kubeconfig is None:
        spec.fail("secrets", f"must have an entry of type {KUBECONFIG}")
    identity = next((s for s in secrets if s.kind != KUBECONFIG), None)
    return Credentials(kubeconfig, identity, secrets)


def _secret(entry: Block) -> Secret:
    return Secret(entry.text("type"), entry.text("name"), entry.text("key"), entry.text("namespace", ""))


def _cluster(annotation: str, namespace: str) -> Ref | None:
    parts = annotation.split()
    if not parts:
        return None
    if len(parts) != 3:  # noqa: PLR2004 -- apiVersion, kind, name
        raise SpecError(f"metadata.annotations[{CLUSTER_ANNOTATION}] must read '<apiVersion> <kind> <name>'")
    return Ref(parts[0], parts[1], parts[2], namespace)


def _listeners(spec: Block) -> list[Plain]:
    given = list(spec.block("gateway").blocks("listeners"))
    named = [{f: entry.content[f] for f in ("name", "protocol", "port") if entry.has(f)} for entry in given]
    everywhere = {"allowedRoutes": {"namespaces": {"from": "All"}}}
    return [{**listener, **everywhere} for listener in named or _LISTENERS]

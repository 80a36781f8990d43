"""The one table of what outlives what. Creation gates and Usages are both derived from it.

Read a row as: `protected` may go only when `until_gone` is gone; so `until_gone` is created only when
`protected` is there. One order, both directions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Role(Enum):
    """What an object is to the order."""

    CLUSTER = "cluster XR"
    PROVIDER_CONFIG = "ProviderConfig"
    SECRET = "credentials Secret"  # noqa: S105 -- a role's name, not a password
    STACK = "ServingStack"
    LEAF = "Release or Object of the ServingStack"
    COMPONENT = "component of the ServingStack"
    SERVICE = "Object of an LLMService"
    INFERENCE_CLUSTER = "InferenceCluster"
    USER = "consumer of the InferenceCluster"


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of edge, and what breaks without it."""

    name: str
    protected: Role
    until_gone: Role
    why: str


TABLE: tuple[Row, ...] = (
    Row(
        "cluster-until-stack",
        Role.CLUSTER,
        Role.STACK,
        "a cluster without its ServingStack is asked for again as soon as the stack returns",
    ),
    Row(
        "cluster-until-leaf",
        Role.CLUSTER,
        Role.LEAF,
        "the ServingStack leaves the API while its Releases still uninstall in the cluster",
    ),
    Row(
        "provider-config-until-leaf",
        Role.PROVIDER_CONFIG,
        Role.LEAF,
        "a foreground cascade takes the provider's own in-use record first, then the ProviderConfig",
    ),
    Row(
        "secret-until-leaf",
        Role.SECRET,
        Role.LEAF,
        "a ProviderConfig without its Secret is useless",
    ),
    Row(
        "stack-until-service",
        Role.STACK,
        Role.SERVICE,
        "the stack carries the controller and the routes that the teardown of an LLMService needs",
    ),
    Row(
        "cluster-until-service",
        Role.CLUSTER,
        Role.SERVICE,
        "an LLMService finalizes in the cluster, whatever becomes of the ServingStack",
    ),
    Row(
        "provider-config-until-service",
        Role.PROVIDER_CONFIG,
        Role.SERVICE,
        "a foreground cascade takes the provider's own in-use record first, then the ProviderConfig",
    ),
    Row(
        "secret-until-service",
        Role.SECRET,
        Role.SERVICE,
        "a ProviderConfig without its Secret is useless",
    ),
    Row(
        "component-until-component",
        Role.COMPONENT,
        Role.COMPONENT,
        "a load balancer that its controller never freed blocks the network's deletion",
    ),
    Row(
        "inference-cluster-until-user",
        Role.INFERENCE_CLUSTER,
        Role.USER,
        "the consumers reach the cluster through what the InferenceCluster composes",
    ),
)


def needed_first(role: Role) -> tuple[Role, ...]:
    """Return the roles that must be there before a `role` is created: the table read upwards."""
    return tuple(row.protected for row in TABLE if row.until_gone is role)


@functools.cache
def holds(protected: Role, until_gone: Role) -> bool:
    """Whether the table has a row for this pair."""
    return any(row.protected is protected and row.until_gone is until_gone for row in TABLE)


def circle(outlives: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return, sorted, what could never go because it waits for itself; nothing where the order is sound."""
    left = {name: set(others) for name, others in outlives.items()}
    while free := [name for name, waits_for in left.items() if not waits_for & left.keys()]:
        for name in free:
            del left[name]
    return tuple(sorted(left))

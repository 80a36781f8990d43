"""The guard of an InferenceCluster: its delete is refused while anybody uses the cluster.

No form of Usage relates a cluster-scoped object to a namespaced consumer, so a ClusterUsage that gives only a
reason stands for all of them, for as long as one is found. A consumer's own record vanishes before the
consumer does (a foreground cascade takes ProviderConfigUsages first), so the consumers seen last are kept in
an annotation of the guard and asked for by name until they are gone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from function import names, order, remembering, structs
from function.model import KUBERNETES, MODELPLANE, Condition, Guard, Lookup, Plan, Ref, Step
from function.settings import MODEL_REPLICA
from function.wording import MOST_NAMED, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.observed import Observed
    from function.settings import Consumer, Settings
    from function.wire import Struct, Value

GUARD = "usage-replicas"

# How many consumers the guard remembers: an annotation holds 256 KiB, an entry at most some 200 bytes.
MOST_REMEMBERED = 1000

_REPLICAS = "ModelReplicas are scheduled to this InferenceCluster"
_OBJECTS = "Objects reach this InferenceCluster through its ClusterProviderConfig"


# Most passes find the users of the pass before, in the same order: what is made of them is kept for a while.
_MOST_KEPT = 16

_NONE: Mapping[str, Value] = {}

# What a Ref holds, in its order: equal to the Ref, and made in a third of the time.
_User = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Users:
    """Who uses an InferenceCluster, sorted, each once: for messages, and for the guard to remember."""

    named: tuple[str, ...]
    remembered: tuple[str, ...]


def add(made: Plan, name: str, observed: Observed, settings: Settings) -> None:
    """Plan the guard of the InferenceCluster `name` while there are consumers, or that is not known."""
    scheduled = _scheduled(made, name, observed, settings)
    seen = (*scheduled, *_reaching(made, name, observed))
    users = _users((*seen, *_remembered(made, observed, seen)))
    unknown = any(not observed.asked(lookup) for lookup in made.lookups)
    made.users = users.named
    made.in_use = bool(made.users) or unknown
    made.conclude(_condition(made.users))
    if not order.holds(order.Role.INFERENCE_CLUSTER, order.Role.USER):
        return
    if made.users or (unknown and observed.get(GUARD) is not None):
        reason = _REPLICAS if scheduled or not made.users else _OBJECTS
        protected = Ref(MODELPLANE, "InferenceCluster", name)
        made.add(Step(GUARD, Guard(protected, reason, users.remembered), ready=True))


@functools.lru_cache(maxsize=_MOST_KEPT)
def _users(found: tuple[_User, ...]) -> _Users:
    refs = sorted({Ref(*user) for user in found}, key=str)
    return _Users(tuple(map(str, refs)), remembering.encode(refs[:MOST_REMEMBERED]))


@functools.lru_cache(maxsize=_MOST_KEPT)
def _unseen(written: str, seen: tuple[_User, ...]) -> tuple[Ref, ...]:
    return tuple(remembering.decode(written, besides=[Ref(*user) for user in seen]))


def _scheduled(made: Plan, cluster: str, observed: Observed, settings: Settings) -> list[_User]:
    users: list[_User] = []
    for consumer in settings.consumers:
        name = _lookup_name(consumer)
        api_version, kind, label = consumer.api_version, consumer.kind, consumer.label
        made.lookups[name] = Lookup(api_version, kind, labels=((label, cluster),))
        # They are of the kind that was asked for: their metadata says the rest.
        users += [(api_version, kind, *structs.named(body)) for body in observed.bodies(name)]
    return users


def _lookup_name(consumer: Consumer) -> str:
    return (
        "model-replicas" if consumer == MODEL_REPLICA else f"consumers-{consumer.kind}.{consumer.api_version}"
    )


def _reaching(made: Plan, cluster: str, observed: Observed) -> list[_User]:
    labels = (
        ("crossplane.io/provider-config", names.provider_config(cluster)),
        ("crossplane.io/provider-config-kind", "ClusterProviderConfig"),
    )
    made.lookups["provider-config-usages"] = Lookup(KUBERNETES, "ProviderConfigUsage", labels=labels)
    users = [_user(record) for record in observed.bodies("provider-config-usages")]
    return [user for user in users if user[2]]


def _user(record: Struct) -> _User:
    """Return whom a record names; written out as `structs.named` is, and for the same reason."""
    fields = record.fields
    if "resourceRef" not in fields:
        return "", "", "", ""
    user = fields["resourceRef"].struct_value.fields
    metadata = fields["metadata"].struct_value.fields if "metadata" in fields else _NONE
    return (
        user["apiVersion"].string_value if "apiVersion" in user else "",
        user["kind"].string_value if "kind" in user else "",
        user["name"].string_value if "name" in user else "",
        metadata["namespace"].string_value if "namespace" in metadata else "",
    )


def _remembered(made: Plan, observed: Observed, seen: tuple[_User, ...]) -> list[Ref]:
    """Return who was seen before and cannot be called gone; the first few unseen ones are asked for."""
    unseen = _unseen(remembering.written(observed.get(GUARD)), seen)
    asked = remembering.ask(made, observed, "user", unseen[:MOST_NAMED])
    return [*asked.refs, *unseen[MOST_NAMED:]]


def _condition(users: tuple[str, ...]) -> Condition:
    if not users:
        return Condition("DeletionProtected", status=False, reason="NotInUse")
    message = f"used by {listed(users)}"
    return Condition("DeletionProtected", status=True, reason="InUse", message=message)

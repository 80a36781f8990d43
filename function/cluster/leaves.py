"""Holds the cluster XR and the credentials by the leaves of a ServingStack that does not do so itself.

Our own ServingStack composes these Usages beside its leaves and says so in its DeletionOrdered condition.
For any other the leaves are found by the root's label, which is only a name: what the cluster XR itself
composes carries it as well, and a Usage by one of those would deadlock every delete. So each leaf is traced
through its controller references, and only what leads to the ServingStack counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import order
from function.model import (
    HELM,
    KUBERNETES,
    ORDERED,
    STACK,
    SYSTEM_NAMESPACE,
    Edge,
    Lookup,
    Plan,
    Ref,
    Step,
    Usage,
)
from function.order import Role

if TYPE_CHECKING:
    from function.model import Credentials
    from function.observed import Observed, Resource
    from function.spec import InferenceCluster

_KINDS = {"stack-releases": (HELM, "Release"), "stack-objects": (KUBERNETES, "Object")}
_MOST_OWNERS = 8  # levels of nesting; deeper ones are not traced


def hold(
    made: Plan,
    spec: InferenceCluster,
    observed: Observed,
    cluster: Resource | None,
    credentials: Credentials | None,
) -> None:
    """Plan a Usage by each leaf found of what it needs, unless the ServingStack holds that itself."""
    stack = observed.get(STACK)
    needed = _needed(cluster, credentials)
    if stack is None or not needed or stack.condition(ORDERED) == "True":
        return
    labelled, _ = ask(made, spec.name, observed)
    for kind, leaf in labelled:
        if not leaf.composed_here and _leads_to(made, observed, leaf, stack.uid):
            for held, protected in needed.items():
                edge = Edge(f"{held}-by-{kind.lower()}-{leaf.ref.name}", protected, leaf.ref)
                made.add(Step(edge.key, Usage(edge, SYSTEM_NAMESPACE), ready=True))


def ask(made: Plan, cluster: str, observed: Observed) -> tuple[list[tuple[str, Resource]], bool]:
    """Ask for what carries the root's label; return it with its kind, and whether all is answered for.

    The label is only a name: what the cluster XR composes carries it as well.
    """
    found: list[tuple[str, Resource]] = []
    for name, (api_version, kind) in _KINDS.items():
        labels = (("crossplane.io/composite", cluster),)
        made.lookups[name] = Lookup(api_version, kind, labels=labels, namespace=SYSTEM_NAMESPACE)
        found += [(kind, leaf) for leaf in observed.found(name)]
    return found, all(observed.asked(name) for name in _KINDS)


def _needed(cluster: Resource | None, credentials: Credentials | None) -> dict[str, Ref]:
    """Return what a leaf needs to finalize, by the first part of its Usage's key."""
    needed: dict[str, Ref] = {}
    if cluster is not None and order.holds(Role.CLUSTER, Role.LEAF):
        needed["usage-cluster"] = cluster.ref
    if credentials is not None and order.holds(Role.SECRET, Role.LEAF):
        for secret in credentials.unowned(cluster_held=cluster is not None):
            ref = Ref("v1", "Secret", secret.name, secret.namespace or SYSTEM_NAMESPACE)
            needed[f"usage-secret-{secret.name}"] = ref
    return needed


def _leads_to(made: Plan, observed: Observed, leaf: Resource, root: str) -> bool:
    current = leaf
    for _ in range(_MOST_OWNERS):
        owner = current.controller
        if owner is None:
            return False
        if owner.uid == root:
            return True
        if any(r.uid == owner.uid for r in observed.resources.values()):
            return False  # another composed resource of this InferenceCluster, such as the cluster XR
        name = f"owner-{owner.uid}"
        ref = owner.ref
        made.lookups[name] = Lookup(ref.api_version, ref.kind, name=ref.name, namespace=leaf.ref.namespace)
        found = [r for r in observed.found(name) if r.uid == owner.uid]
        if not found:
            return False
        current = found[0]
    return False

"""Which Usages a live cluster must have: the function's own table, read over what is there. Pure.

A pair is (protected, until gone). Components among themselves are left out: which of them need one another is
in the Settings of a Composition, not on the objects.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from function import order
from function.model import CLUSTER_ANNOTATION, HELM, INFRASTRUCTURE, KUBERNETES, MODELPLANE, Ref
from function.order import Role
from modelctl.snapshot.kinds import CLUSTER_KINDS
from modelctl.snapshot.objects import (
    Manifest,
    Snapshot,
    annotation,
    block,
    condition,
    controller,
    deleting,
    group,
    namespace,
    ref,
    uid,
)

Pair = tuple[Ref, Ref]
ANYBODY = Ref("", "", "")
"""Whoever uses an InferenceCluster: no form of Usage can name them."""
_LEAVES = (("Object", KUBERNETES), ("Release", HELM))


@dataclass(frozen=True, slots=True)
class Reach:
    """What the leaves of a cluster need to log in: the Secrets that no cluster XR keeps, and that XR."""

    cluster: Ref | None
    secrets: tuple[Ref, ...]


def pairs(snapshot: Snapshot) -> Iterator[tuple[Manifest, list[Pair]]]:
    """Yield each live composite with the pairs whose Usages it, or its owner, composes."""
    clusters = {uid(o): o for o in snapshot.of(group(MODELPLANE), "InferenceCluster")}
    for stack in snapshot.of(group(INFRASTRUCTURE), "ServingStack"):
        owner = clusters.get(controller(stack))
        if deleting(stack) or (owner is not None and deleting(owner)):
            continue
        reach = _reach(snapshot, stack, owner)
        yield stack, [pair for leaf in _leaves(snapshot, stack) for pair in _of(leaf, reach, Role.LEAF)]
        if owner is not None:
            yield owner, [*_cluster(stack, reach), *_services(snapshot, owner, stack, reach)]
    for cluster in clusters.values():
        if not deleting(cluster) and condition(cluster, "DeletionProtected").get("status") == "True":
            yield cluster, [(ref(cluster), ANYBODY)]


def _reach(snapshot: Snapshot, stack: Manifest, owner: Manifest | None) -> Reach:
    composed = snapshot.controlled_by(owner) if owner is not None else ()
    cluster = next((ref(o) for o in composed if o["kind"] in CLUSTER_KINDS), None)
    if cluster is None and len(parts := annotation(stack, CLUSTER_ANNOTATION).split()) == 3:  # noqa: PLR2004 - apiVersion, kind, name
        cluster = Ref(parts[0], parts[1], parts[2], namespace(stack))
    entries = [block(one) for one in block(stack.get("spec")).get("secrets") or ()]
    secrets = {
        Ref("v1", "Secret", str(one.get("name")), str(one.get("namespace") or namespace(stack)))
        for one in entries
        if cluster is None or one.get("namespace")
    }
    return Reach(cluster, tuple(sorted(secrets, key=str)))


def _leaves(snapshot: Snapshot, owner: Manifest) -> list[Manifest]:
    groups = {(group(api_version), kind) for kind, api_version in _LEAVES}
    found = snapshot.controlled_by(owner)
    return [o for o in found if (group(o["apiVersion"]), o["kind"]) in groups and not deleting(o)]


def config_of(leaf: Manifest) -> Ref | None:
    """Return the ProviderConfig that a Release or Object uses."""
    named = block(block(leaf.get("spec")).get("providerConfigRef"))
    kind, name = str(named.get("kind") or ""), str(named.get("name") or "")
    if not kind or not name:
        return None
    return Ref(leaf["apiVersion"], kind, name, namespace(leaf) if kind == "ProviderConfig" else "")


def _of(leaf: Manifest, reach: Reach, role: Role) -> Iterator[Pair]:
    """Yield what one leaf or service holds, by the rows of the table."""
    config = config_of(leaf)
    if config is not None and config.namespace and order.holds(Role.PROVIDER_CONFIG, role):
        yield config, ref(leaf)
    if reach.cluster is not None and order.holds(Role.CLUSTER, role):
        yield reach.cluster, ref(leaf)
    if order.holds(Role.SECRET, role):
        yield from ((secret, ref(leaf)) for secret in reach.secrets)


def _cluster(stack: Manifest, reach: Reach) -> Iterator[Pair]:
    if reach.cluster is not None and order.holds(Role.CLUSTER, Role.STACK):
        yield reach.cluster, ref(stack)


def _services(snapshot: Snapshot, owner: Manifest, stack: Manifest, reach: Reach) -> Iterator[Pair]:
    for leaf in _leaves(snapshot, owner):
        if carried(leaf).get("kind") != "LLMService":
            continue
        yield from _of(leaf, reach, Role.SERVICE)
        if order.holds(Role.STACK, Role.SERVICE):
            yield ref(stack), ref(leaf)


def carried(leaf: Manifest) -> Manifest:
    """Return the manifest that an Object carries."""
    return block(block(block(leaf.get("spec")).get("forProvider")).get("manifest"))

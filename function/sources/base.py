"""The record that a cluster source fills in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from function.model import Credentials
    from function.reading import Block
    from function.spec import NodePool
    from function.structs import Plain

KUBECONFIG = "Kubeconfig"


@dataclass(frozen=True, slots=True)
class Provisioned:
    """What differs between the clusters that a cluster XR provisions.

    `pool` maps a node pool and its class's provisioning block to an entry of the XR's spec.nodePools,
    `spec` the source's own block to the rest of the XR's spec. `identity` is the type of the secret as which
    the ClusterProviderConfig authenticates, empty where the kubeconfig is enough. `max_pools` is what the
    XR's schema admits; `unfit` says what it would refuse of one pool, or nothing.
    """

    kind: str
    key: str
    usage_key: str
    block: str
    title: str
    spec: Callable[[Block], dict[str, Plain]]
    pool: Callable[[NodePool, Block], dict[str, Plain]]
    identity: str = ""
    driver_root: str = ""
    max_pools: int = 8
    unfit: Callable[[NodePool], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class Source:
    """One value of spec.cluster.source.

    Either a cluster XR provisions the cluster, or the spec says how to reach it. `storage_class` reads the
    ReadWriteMany StorageClass for model caches where no cluster XR reports one.
    """

    name: str
    provisioned: Provisioned | None = None
    reach: Callable[[Block], Credentials] | None = None
    storage_class: Callable[[Block], str] = lambda _: ""


def credentials_ref(block: Block) -> Mapping[str, Plain]:
    """Return the cloud ProviderConfig reference as a `credentials` entry, or nothing where none is given."""
    if not block.has("credentials"):
        return {}
    ref = block.block("credentials")
    return {
        "credentials": {
            "type": ref.text("type", "ClusterProviderConfig"),
            "name": ref.text("name", "default"),
        }
    }


def scaling(pool: NodePool) -> dict[str, Plain]:
    """Return the node counts of a pool; bounds are left out where the pool has none."""
    counts: dict[str, Plain] = {"nodeCount": pool.node_count}
    if pool.min_nodes is not None:
        counts["minNodeCount"] = pool.min_nodes
    if pool.max_nodes is not None:
        counts["maxNodeCount"] = pool.max_nodes
    return counts


def without_zones(pool: NodePool) -> str:
    """Say that a pool needs zones: not every zone of a region has every machine."""
    return "" if pool.zones else "needs zones"


def half_scaled(pool: NodePool) -> str:
    """Say that a pool is of a fixed size or scales between two bounds."""
    return (
        "needs maxNodeCount beside minNodeCount"
        if pool.min_nodes is not None and pool.max_nodes is None
        else ""
    )

"""Parses an InferenceCluster into frozen values, or raises SpecError."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from function import serving, structs
from function.memo import Memo
from function.model import SpecError
from function.reading import Block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.serving import Service
    from function.structs import Plain
    from function.wire import Struct

# One more than this and the status could not publish them: the XRD's own limit.
MAX_NODE_POOLS = 64

FABRICS = ("None", "EFA", "InfiniBand")


@dataclass(frozen=True, slots=True)
class NodePool:
    """A GPU node pool; counts are nodes, None where the pool does not scale."""

    name: str
    class_name: str
    node_count: int
    min_nodes: int | None
    max_nodes: int | None
    zones: tuple[str, ...]
    reservation: str
    fabric: str
    infiniband: str

    @property
    def most_nodes(self) -> int:
        """The nodes that the scheduler may count on: the maximum where it scales."""
        return self.max_nodes or self.node_count


@dataclass(frozen=True, slots=True)
class Published:
    """The devices of each pool that the status already names, read where they are asked for."""

    composite: Struct

    def get(self, name: str) -> Plain:
        """Return the devices of the pool `name`, or None."""
        for pool in structs.blocks(self.composite, "status", "gpuPools"):
            if structs.text(pool, "name") == name:
                return structs.plain(structs.get(pool, "devices"))
        return None


@dataclass(frozen=True, slots=True)
class InferenceCluster:
    """What the user asked for; `cluster` is spec.cluster, read further by its source.

    `published` has the devices of each pool that the status already names. `declares_services` says whether
    the installed XRD knows the status of services: one field that it does not declare fails every reconcile.
    """

    name: str
    source: str
    cluster: Block
    pools: tuple[NodePool, ...]
    published: Published
    services: tuple[Service, ...] = ()
    declares_services: bool = False
    published_services: Mapping[tuple[str, str], Mapping[str, Plain]] = field(default_factory=dict)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The InferenceClasses that the pools name, sorted, each once."""
        return tuple(sorted({pool.class_name for pool in self.pools}))


def parse(composite: Struct) -> InferenceCluster:
    """Parse the observed composite.

    Raises:
        SpecError: it cannot be planned; the message names the field.

    """
    name = structs.text(composite, "metadata", "name")
    if not name:
        raise SpecError("metadata.name is required")
    spec = Block.of("spec", structs.shared(structs.get(composite, "spec")))
    if not spec.has("cluster"):
        spec.fail("cluster", "is required: say where the cluster comes from, for example {source: Local}")
    cluster = spec.block("cluster")
    pools, services = _parts(spec)
    return InferenceCluster(
        name=name,
        source=cluster.text("source"),
        cluster=cluster,
        pools=pools,
        services=services,
        declares_services=declares_services(composite),
        published_services=serving.published(composite),
        published=Published(composite),
    )


def declares_services(composite: Struct) -> bool:
    """Whether the installed XRD is one that defaults spec.deletion, and so declares our status too."""
    return structs.block(composite, "spec", "deletion") is not None


_Parts = tuple[tuple[NodePool, ...], tuple["Service", ...]]
_known: Memo[int, tuple[object, _Parts]] = Memo(64)


def _parts(spec: Block) -> _Parts:
    """Parse pools and services once for each spec; see `structs.shared`: the same object, the same bytes."""
    known = _known.get(id(spec.content))
    if known is None or known[0] is not spec.content:
        known = _known.put(id(spec.content), (spec.content, (_pools(spec), serving.parse(spec))))
    return known[1]


def _pools(spec: Block) -> tuple[NodePool, ...]:
    pools = tuple(_pool(block) for block in spec.blocks("nodePools"))
    if len(pools) > MAX_NODE_POOLS:
        spec.fail("nodePools", f"has {len(pools)} pools; at most {MAX_NODE_POOLS} are allowed")
    seen: set[str] = set()
    for pool in pools:
        if pool.name in seen:
            spec.fail("nodePools", f"names {pool.name!r} twice; pool names are unique")
        seen.add(pool.name)
    return pools


def _pool(block: Block) -> NodePool:
    fabric = block.block("fabric")
    kind = fabric.one_of("type", FABRICS, "None")
    if block.has("capacityBlock"):
        reservation = block.block("capacityBlock").text("capacityReservationId")
    else:
        reservation = ""
    return NodePool(
        name=block.text("name"),
        class_name=block.text("className"),
        node_count=block.whole("nodeCount", 1),
        min_nodes=block.whole("minNodeCount") if block.has("minNodeCount") else None,
        max_nodes=block.whole("maxNodeCount") if block.has("maxNodeCount") else None,
        zones=block.texts("zones"),
        reservation=reservation,
        fabric=kind,
        infiniband=fabric.block("infiniband").text("fabric", "") if kind == "InfiniBand" else "",
    )


def class_spec(inference_class: Struct) -> Mapping[str, Plain]:
    """Return the spec of an InferenceClass: the same object where it is the same, so not to be changed."""
    found = structs.shared(structs.get(inference_class, "spec"))
    return found if isinstance(found, dict) else _NO_SPEC


_NO_SPEC: Mapping[str, Plain] = {}


def provisioning(spec: Mapping[str, Plain], cloud: str) -> Mapping[str, Plain] | None:
    """Return the provisioning block of a class's spec for `cloud`, or None where it has none."""
    clouds = spec.get("provisioning")
    found = clouds.get(cloud) if isinstance(clouds, dict) else None
    return found if isinstance(found, dict) else None


def devices(spec: Mapping[str, Plain]) -> list[Plain]:
    """Return the devices that a class's spec declares, as they stand."""
    found = spec.get("devices")
    return found if isinstance(found, list) else []

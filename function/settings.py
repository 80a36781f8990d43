"""Parses the optional input of the composition step, kind Settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from function import order, structs
from function.model import MODELPLANE, SpecError
from function.reading import Block

if TYPE_CHECKING:
    from function.wire import Struct


@dataclass(frozen=True, slots=True)
class Consumer:
    """A kind whose objects use an InferenceCluster: found by a label that carries the cluster's name."""

    api_version: str
    kind: str
    label: str


# What Modelplane schedules to a cluster. A kind that is not installed fails the whole pipeline, so our own
# Configuration passes an empty list.
MODEL_REPLICA = Consumer(MODELPLANE, "ModelReplica", "modelplane.ai/cluster")


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """Two keys of a pipeline: what is composed as `protect` stays until `until_gone` is gone."""

    protect: str
    until_gone: str


@dataclass(frozen=True, slots=True)
class OperatorChart:
    """Where the chart of the LLMService controller lies, read over plain HTTP where `plain_http` says so.

    `pull_secret` names the Secret that it is pulled with, empty where anybody may.
    """

    repository: str
    version: str
    plain_http: bool = False
    pull_secret: str = ""


# The longest key, and the most pairs, that the input may name: its schema's own limits.
MAX_KEY = 253
MAX_EDGES = 256

# How the address of a chart repository may begin.
_SCHEMES = ("oci://", "https://", "http://")


@dataclass(frozen=True, slots=True)
class Settings:
    """The input; without any, what Modelplane's own Composition needs.

    `chart_registry` replaces the repository of every chart of the ServingStack (read over plain HTTP where
    `plain_http` says so), but for the one of `operator_chart`; `components` replaces its table. `edges` make
    the function a late step, whatever the composite is: None where they are not given.
    """

    chart_registry: str = ""
    plain_http: bool = False
    operator_chart: OperatorChart | None = None
    components: tuple[Block, ...] | None = None
    consumers: tuple[Consumer, ...] = field(default=(MODEL_REPLICA,))
    edges: tuple[Pair, ...] | None = None


def parse(given: Struct | None) -> Settings:
    """Parse the step's input.

    Raises:
        SpecError: it is of another kind, or a field is wrong.

    """
    if given is None or not given.fields:
        return Settings()
    kind = structs.text(given, "kind")
    if kind != "Settings":
        raise SpecError(f"input must be of kind Settings, not {kind!r}: correct the Composition's step")
    block = Block.of("input", structs.plain_block(given))
    return Settings(
        chart_registry=block.text("chartRegistry", "").rstrip("/"),
        plain_http=block.flag("plainHTTP"),
        operator_chart=_operator_chart(block.block("operatorChart")) if block.has("operatorChart") else None,
        components=tuple(block.blocks("components")) if block.has("components") else None,
        consumers=_consumers(block) if block.has("consumers") else (MODEL_REPLICA,),
        edges=_edges(block) if block.has("edges") else None,
    )


def _operator_chart(given: Block) -> OperatorChart:
    repository = given.text("repository").rstrip("/")
    if not repository.startswith(_SCHEMES):
        given.fail("repository", f"must begin with {' or '.join(_SCHEMES)}, not {repository!r}")
    secret = given.text("pullSecret") if given.has("pullSecret") else ""
    return OperatorChart(repository, given.text("version"), given.flag("plainHTTP"), secret)


def _consumers(block: Block) -> tuple[Consumer, ...]:
    return tuple(
        Consumer(entry.text("apiVersion"), entry.text("kind"), entry.text("label", MODEL_REPLICA.label))
        for entry in block.blocks("consumers")
    )


def _edges(block: Block) -> tuple[Pair, ...]:
    pairs: list[Pair] = []
    for entry in block.blocks("edges"):
        pair = Pair(_key(entry, "protect"), _key(entry, "untilGone"))
        if pair.protect == pair.until_gone:
            entry.fail("untilGone", f"is {pair.until_gone!r} itself; name the key of another resource")
        if pair in pairs:
            entry.fail("protect", f"{pair.protect!r} until {pair.until_gone!r} is gone occurs twice")
        pairs.append(pair)
    if len(pairs) > MAX_EDGES:
        block.fail("edges", f"has {len(pairs)} entries; at most {MAX_EDGES} are allowed")
    waits: dict[str, set[str]] = {}
    for pair in pairs:
        waits.setdefault(pair.protect, set()).add(pair.until_gone)
    if stuck := order.circle(waits):
        block.fail("edges", f"keep {', '.join(stuck)} for one another in a circle; none could ever go")
    return tuple(pairs)


def _key(entry: Block, field_name: str) -> str:
    key = entry.text(field_name)
    if len(key) > MAX_KEY:
        entry.fail(field_name, f"has {len(key)} characters; at most {MAX_KEY} are allowed")
    return key

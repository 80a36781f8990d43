"""For any pipeline: a late step answers, keeps what others desire, and ends where it began."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.calls import COMPOSED, OBJECT, RELEASE, USAGE, Manifest, Response, call, thing, usage

LABEL = "modelplane.ai/usage-consumer"
FLEET = {"apiVersion": "platform.example.org/v1", "kind": "Fleet", "metadata": {"name": "f"}}
PC = ("helm.m.crossplane.io/v1beta1", "ProviderConfig")
PATIENT = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SCALARS = st.none() | st.booleans() | st.integers(-3, 99) | st.text(max_size=8)
FIELDS = ["apiVersion", "kind", "metadata", "name", "namespace", "labels", "spec", "of", "by"]
FIELDS += ["resourceRef", "providerConfigRef"]
ANY = st.recursive(
    SCALARS | st.sampled_from([*RELEASE, *OBJECT, *USAGE, *PC, LABEL]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=10,
)
BLOCK = st.dictionaries(st.sampled_from(FIELDS), ANY, max_size=5)
KEYS = st.sampled_from(["a", "b", "c", "pc", "usage-pc-a", "usage-a-by-b", "Ä/" * 40])
NAMES = st.sampled_from(["x", "y", "z"])


def _consumer(kind: tuple[str, str], name: str, config: str) -> Manifest:
    return thing(kind, name, spec={"providerConfigRef": {"kind": "ProviderConfig", "name": config}})


SOUND = st.one_of(
    st.builds(_consumer, st.sampled_from([RELEASE, OBJECT]), NAMES, NAMES),
    st.builds(lambda name: thing(PC, name), NAMES),
    st.builds(lambda of, by: usage((PC, of), (RELEASE, by)), NAMES, NAMES),
    st.builds(lambda name: {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}, NAMES),
)
RESOURCES = st.dictionaries(KEYS, SOUND | BLOCK, max_size=6)
PAIRS = st.lists(st.tuples(KEYS, KEYS).filter(lambda p: p[0] < p[1]), max_size=4, unique=True)


def late(
    desired: dict[str, Manifest], observed: dict[str, Manifest], pairs: list[tuple[str, str]]
) -> Response:
    """Run the late step with these pairs."""
    given = {"kind": "Settings", "edges": [{"protect": a, "untilGone": b} for a, b in pairs]}
    return call(FLEET, observed, None, given, desired=desired)


def but_for_the_label(manifest: Manifest) -> Manifest:
    """Return a manifest without the consumer's label, and without what held nothing else."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("labels"), dict):
        return manifest
    labels = {k: v for k, v in metadata["labels"].items() if k != LABEL}
    rest = {k: v for k, v in metadata.items() if k != "labels"}
    kept = {**rest, "labels": labels} if labels else rest
    return {k: v for k, v in manifest.items() if k != "metadata"} | ({"metadata": kept} if kept else {})


def _ours(manifest: Manifest) -> bool:
    metadata = manifest.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return isinstance(labels, dict) and COMPOSED.items() <= labels.items()


@PATIENT
@given(desired=RESOURCES, observed=RESOURCES, pairs=PAIRS)
def test_no_desired_key_vanishes_or_changes(
    desired: dict[str, Manifest], observed: dict[str, Manifest], pairs: list[tuple[str, str]]
) -> None:
    """Whatever is observed and wanted: at most the consumer's label is added; an own Usage may be renewed."""
    made = late(desired, observed, pairs)
    assert made.fatal == []
    for key, manifest in desired.items():
        if not _ours(manifest):
            assert but_for_the_label(made.desired[key]) == but_for_the_label(manifest)
        assert key in made.desired


@PATIENT
@given(desired=RESOURCES, observed=RESOURCES, pairs=PAIRS)
def test_a_usage_holds_what_is_observed(
    desired: dict[str, Manifest], observed: dict[str, Manifest], pairs: list[tuple[str, str]]
) -> None:
    """Never of or by a Usage; a new one has the form that the scopes of its pair ask for."""
    made = late(desired, observed, pairs)
    for key in set(made.desired) - set(desired) - set(observed):
        manifest = made.desired[key]
        spec, kind = manifest["spec"], manifest["kind"]
        assert kind in ("Usage", "ClusterUsage")
        assert {spec["of"]["kind"], spec["by"]["kind"]}.isdisjoint({"Usage", "ClusterUsage"})
        assert (kind == "Usage") == ("namespace" in manifest["metadata"])
        assert key in made.ready


@PATIENT
@given(desired=RESOURCES, observed=RESOURCES, pairs=PAIRS)
def test_a_second_run_changes_nothing(
    desired: dict[str, Manifest], observed: dict[str, Manifest], pairs: list[tuple[str, str]]
) -> None:
    """The late step twice in a pipeline is as good as once, and the order of everything plays no part."""
    once = late(desired, observed, pairs)
    assert late(once.desired, observed, pairs).desired == once.desired
    turned = [dict(reversed(found.items())) for found in (desired, observed)]
    assert late(turned[0], turned[1], list(reversed(pairs))).desired == once.desired


@PATIENT
@given(composite=BLOCK, desired=RESOURCES, observed=RESOURCES, given_settings=st.none() | BLOCK)
def test_anything_gets_an_answer(
    composite: Any,  # noqa: ANN401 -- any JSON
    desired: dict[str, Manifest],
    observed: dict[str, Manifest],
    given_settings: Manifest | None,
) -> None:
    """Composites and inputs of any shape are answered; a refusal leaves what is desired as it was."""
    made = call(composite, observed, None, given_settings, desired=desired)
    assert len(made.fatal) <= 1
    if made.fatal:
        assert made.desired == desired

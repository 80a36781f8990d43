"""The late step: Usages for what any other pipeline composes, and nothing else of it changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from support.calls import COMPOSED, Manifest, Response, call, cluster, stack, thing, usage

RECORDED = Path(__file__).parent / "recorded" / "compose-usages.yaml"
FLEET: Manifest = {"apiVersion": "platform.example.org/v1", "kind": "Fleet", "metadata": {"name": "f"}}
LABEL = "modelplane.ai/usage-consumer"
HELM = "helm.m.crossplane.io/v1beta1"
KUBE = "kubernetes.m.crossplane.io/v1alpha1"
RELEASE, PC, CPC = (HELM, "Release"), (HELM, "ProviderConfig"), (HELM, "ClusterProviderConfig")
INFRA, OTHER = ("infra.example.test/v1", "Machine"), ("infra.example.test/v1", "Bundle")

REF: Manifest = {"spec": {"providerConfigRef": {"kind": "ProviderConfig", "name": "helm"}}}
CONSUMER = thing(RELEASE, "web-1", **REF)
CONFIG = thing(PC, "helm")


def edges(*pairs: tuple[str, str]) -> Manifest:
    """Return Settings with these pairs: protected, until gone."""
    return {"kind": "Settings", "edges": [{"protect": a, "untilGone": b} for a, b in pairs]}


def bare(manifest: Manifest, *fields: str) -> Manifest:
    """Return a manifest as a step would desire it, without what the API server adds, and without `fields`."""
    kept = {k: v for k, v in manifest["metadata"].items() if k not in ("uid", *fields)}
    return {k: v for k, v in manifest.items() if k != "status"} | {"metadata": kept}


def late(
    observed: dict[str, Manifest],
    settings: Manifest | None = None,
    desired: dict[str, Manifest] | None = None,
    required: dict[str, list[Manifest]] | None = None,
) -> Response:
    """Run the late step; without `desired` the earlier steps desire what is observed, Usages excepted."""
    if desired is None:
        found = {k: m for k, m in observed.items() if m.get("kind") not in ("Usage", "ClusterUsage")}
        desired = {key: bare(manifest) for key, manifest in found.items()}
    return call(FLEET, observed, required, settings, desired=desired)


def cluster_scoped(kind: tuple[str, str], name: str) -> Manifest:
    """Return an observed object without a namespace."""
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": name, "uid": name}}


@pytest.mark.parametrize("case", yaml.safe_load(RECORDED.read_text()), ids=lambda case: case["name"])
def test_the_answer_is_that_of_compose_usages(case: Manifest) -> None:
    """Same keys, resources and labels as recorded at commit 90ba117, but for our own label on the Usages."""
    desired = case["desired"]
    metadata = {"name": "given", "namespace": "team-a"}
    observed = {k: {**m, "metadata": {**metadata, **m.get("metadata", {})}} for k, m in desired.items()}
    made = call(case["composite"], observed, desired=desired)
    got = {key: _without_our_label(manifest) for key, manifest in made.desired.items()}
    answer = case["answer"]
    assert got == answer["resources"]
    assert made.ready == set(answer["ready"])
    assert len(made.warnings) == answer["warnings"]
    assert made.fatal == []


def _without_our_label(manifest: Manifest) -> Manifest:
    labels = manifest.get("metadata", {}).get("labels", {})
    if labels != COMPOSED:
        assert not COMPOSED.items() <= labels.items()
        return manifest
    assert manifest["kind"] == "Usage"
    return {**manifest, "metadata": {k: v for k, v in manifest["metadata"].items() if k != "labels"}}


@pytest.mark.parametrize(
    ("observed", "desired", "usages"),
    [
        pytest.param({}, {"web": CONSUMER, "pc": CONFIG}, set(), id="nothing observed"),
        pytest.param({"web": CONSUMER}, {"web": CONSUMER, "pc": CONFIG}, set(), id="config not observed"),
        pytest.param({"pc": CONFIG}, {"web": CONSUMER, "pc": CONFIG}, set(), id="consumer not observed"),
        pytest.param(
            {"web": CONSUMER, "pc": CONFIG}, {"web": CONSUMER, "pc": CONFIG}, {"usage-pc-web"}, id="both"
        ),
        pytest.param({"web": CONSUMER}, {"web": CONSUMER}, {"usage-pc-web"}, id="config of somebody else"),
        pytest.param({"web": CONSUMER, "pc": CONFIG}, {"pc": CONFIG}, set(), id="consumer not desired"),
    ],
)
def test_scope_is_unknown_until_both_are_observed(
    observed: dict[str, Manifest], desired: dict[str, Manifest], usages: set[str]
) -> None:
    """No Usage before, so none with a selector that finds nothing and none of the wrong kind."""
    made = late(observed, desired=desired)
    assert set(made.usages()) == usages
    assert set(made.desired) == {*desired, *usages}


@pytest.mark.parametrize(
    ("of", "by", "form"),
    [
        pytest.param(thing(INFRA, "a"), thing(OTHER, "b"), "Usage", id="both namespaced"),
        pytest.param(cluster_scoped(INFRA, "a"), cluster_scoped(OTHER, "b"), "ClusterUsage", id="neither"),
        pytest.param(cluster_scoped(INFRA, "a"), thing(OTHER, "b"), "", id="only the user is namespaced"),
        pytest.param(thing(INFRA, "a"), cluster_scoped(OTHER, "b"), "", id="only the protected is"),
        pytest.param(
            thing(INFRA, "a", metadata={"namespace": "x"}), thing(OTHER, "b"), "Usage", id="two namespaces"
        ),
    ],
)
def test_the_form_of_a_usage_follows_the_scopes(of: Manifest, by: Manifest, form: str) -> None:
    """A pair that no form can relate gives one warning that names both."""
    made = late({"of": of, "by": by}, edges(("of", "by")))
    if not form:
        assert made.usages() == {}
        (warning,) = made.warnings
        assert "Machine" in warning
        assert "Bundle" in warning
        return
    manifest = made.desired["usage-of-by-by"]
    assert manifest["kind"] == form
    assert manifest["metadata"].get("namespace") == by["metadata"].get("namespace")
    namespace = of["metadata"].get("namespace")
    other = {} if namespace == by["metadata"].get("namespace") else {"namespace": namespace}
    assert manifest["spec"]["of"]["resourceRef"] == {"name": "a", **other}
    assert manifest["spec"]["replayDeletion"] is True
    assert "usage-of-by-by" in made.ready


def test_a_cluster_provider_config_of_the_pipeline_is_told() -> None:
    """It is cluster scoped and its consumer is not; a shared one, composed elsewhere, is not our concern."""
    ref = {"providerConfigRef": {"kind": "ClusterProviderConfig", "name": "shared"}}
    observed = {"web": thing(RELEASE, "web-1", spec=ref)}
    assert late(observed).warnings == []
    made = late({**observed, "pc": cluster_scoped(CPC, "shared")})
    (warning,) = made.warnings
    assert "ClusterProviderConfig shared is not kept until Release modelplane-system/web-1" in warning
    assert made.usages() == {}


@pytest.mark.parametrize("key", ["k" * 80, "Web/1 Größe", "-web-", "a.b_c", "..", "x" * 63])
def test_any_key_makes_a_valid_label(key: str) -> None:
    """Too long or of other characters, it is shortened and told apart by a hash."""
    made = late({key: CONSUMER})
    value = made.desired[key]["metadata"]["labels"][LABEL]
    assert len(value) <= 63
    assert value.replace("-", "a").replace(".", "a").replace("_", "a").isalnum()
    assert value[0].isalnum()
    assert value[-1].isalnum()
    selector = made.desired[f"usage-pc-{key}"]["spec"]["by"]["resourceSelector"]
    assert selector == {"matchControllerRef": True, "matchLabels": {LABEL: value}}
    assert value == key or value[-8:].isalnum()


def test_a_label_that_another_step_has_set_stays() -> None:
    """The Usage then names its consumer instead of selecting it."""
    taken = thing(RELEASE, "web-1", metadata={"labels": {LABEL: "mine"}}, **REF)
    made = late({"web": taken})
    assert made.desired["web"] == bare(taken)
    assert made.usages() == {"usage-pc-web": ("ProviderConfig/helm", "Release/web-1", True)}


def test_twice_is_as_good_as_once_and_order_plays_no_part() -> None:
    """A second late step after the first changes nothing; nor does the order of keys or pairs."""
    observed = {"web": CONSUMER, "pc": CONFIG, "a": thing(INFRA, "a"), "b": thing(OTHER, "b")}
    pairs = [("a", "b"), ("pc", "b"), ("web", "a")]
    once = late(observed, edges(*pairs))
    assert len(once.usages()) == 4
    twice = late(observed, edges(*pairs), desired=once.desired)
    turned = late(dict(reversed(observed.items())), edges(*reversed(pairs)))
    for other in (twice, turned):
        assert other.desired == once.desired
        assert other.message.results == once.message.results


@pytest.mark.parametrize(
    ("pairs", "keys"),
    [
        pytest.param([("a", "b")], ["usage-a-by-b"], id="readable"),
        pytest.param([("a-by-b", "c"), ("a", "b-by-c")], ["usage-a-by-b-by-c-"] * 2, id="told apart"),
        pytest.param([("pc-a", "b")], ["usage-pc-a-by-b-"], id="not the key of a consumer"),
    ],
)
def test_keys_of_edges_never_meet(pairs: list[tuple[str, str]], keys: list[str]) -> None:
    """Two pairs never share a key, and a pair never takes that of a consumer's Usage."""
    observed = {k: thing(INFRA, k) for pair in pairs for k in pair}
    found = set(late(observed, edges(*pairs)).usages())
    assert len(found) == len(pairs)
    for key, prefix in zip(sorted(found), keys, strict=True):
        assert key == prefix or key.startswith(prefix)


def test_no_usage_of_or_by_a_usage() -> None:
    """The pair is refused by name; the Usage itself goes on as it is."""
    observed = {"u": usage((PC, "helm"), (RELEASE, "web-1")), "web": CONSUMER}
    for pair in (("u", "web"), ("web", "u")):
        made = late(observed, edges(pair), {"web": bare(CONSUMER), "u": bare(observed["u"])})
        assert set(made.usages()) == {"u", "usage-pc-web"}
        (warning,) = made.warnings
        assert "'u' is a Usage" in warning
        assert "'web'" in warning


def test_a_pair_against_the_direction_of_another_is_told() -> None:
    """A ProviderConfig waits for its Release already: the other way round both would stay for ever."""
    made = late({"web": CONSUMER, "pc": CONFIG}, edges(("web", "pc")))
    assert set(made.usages()) == {"usage-pc-web"}
    (warning,) = made.warnings
    assert "neither could ever go" in warning


def test_a_key_that_nobody_composes_is_told() -> None:
    """A misspelt key must not look protected; one that comes later is only a moment away."""
    made = late({"a": thing(INFRA, "a")}, edges(("a", "bb")))
    (result,) = made.message.results
    assert "no step composes 'bb' as yet" in result.message
    assert made.warnings == made.fatal == []


# What is observed of a pair whose Usage exists; the user has left desired.
OBSERVED = {
    "web": CONSUMER,
    "pc": CONFIG,
    "usage-pc-web": usage((PC, "helm"), (RELEASE, "web-1")),
}


@pytest.mark.parametrize(
    ("replay", "answer", "kept"),
    [
        pytest.param(True, None, True, id="not asked yet"),
        pytest.param(True, [CONSUMER], True, id="still finalizing"),
        pytest.param(True, [], False, id="gone: one pass without replay"),
        pytest.param(False, [], None, id="then it goes"),
    ],
)
def test_a_usage_stays_until_its_user_is_gone(
    replay: bool,  # noqa: FBT001 -- a column of the table
    answer: list[Manifest] | None,
    kept: bool | None,  # noqa: FBT001 -- the same
) -> None:
    """The user was removed from the pipeline: the Usage ends with it, the ProviderConfig after it."""
    standing = usage((PC, "helm"), (RELEASE, "web-1"), replay=replay)
    required = {} if answer is None else {"user-of-usage-pc-web": answer}
    made = late({"usage-pc-web": standing, "pc": CONFIG}, required=required, desired={})
    found = made.desired.get("usage-pc-web")
    assert (found["spec"]["replayDeletion"] if found else None) == kept
    assert "pc" in made.desired
    assert "no longer wanted but kept" in made.warnings[0]


def test_a_usage_of_compose_usages_is_taken_over() -> None:
    """On the first pass after the swap a Usage without our label counts as ours."""
    standing = OBSERVED["usage-pc-web"]
    selector = {"matchControllerRef": True, "matchLabels": {LABEL: "web"}}
    by = {**standing["spec"]["by"], "resourceSelector": selector}
    theirs = {**standing, "metadata": {"name": "u", "namespace": "modelplane-system"}}
    theirs["spec"] = {**standing["spec"], "by": by}
    assert "usage-pc-web" in late({"usage-pc-web": theirs, "pc": CONFIG}, desired={"pc": CONFIG}).desired


def test_a_pair_taken_out_of_the_input_lets_go() -> None:
    """One pass without replay, then nothing, though both live: the user has said so."""
    observed = {"a": thing(INFRA, "a"), "b": thing(OTHER, "b")}
    standing = usage((INFRA, "a"), (OTHER, "b"))
    made = late({**observed, "usage-a-by-b": standing})
    assert made.usages() == {"usage-a-by-b": ("Machine/a", "Bundle/b", False)}
    standing = usage((INFRA, "a"), (OTHER, "b"), replay=False)
    assert late({**observed, "usage-a-by-b": standing}).usages() == {}


def test_a_kept_secret_keeps_its_data() -> None:
    """What has no spec is written back whole."""
    secret = thing(("v1", "Secret"), "s", data={"kubeconfig": "eA=="}, type="Opaque")
    standing = usage((("v1", "Secret"), "s"), (OTHER, "b"))
    made = late({"s": secret, "u": standing, "b": thing(OTHER, "b")}, edges(("s", "b")), {})
    assert made.desired["s"] == bare(secret)


@pytest.mark.parametrize("composite", [cluster(), stack()], ids=lambda composite: composite["kind"])
def test_edges_make_it_a_late_step_of_our_own_kinds(composite: Manifest) -> None:
    """Modelplane's own ServingStack pipeline has compose-usages last; `edges: []` takes its place."""
    made = call(composite, {"web": CONSUMER}, None, edges(), desired={"web": bare(CONSUMER)})
    assert set(made.desired) == {"web", "usage-pc-web"}
    refused = call(composite, {"web": CONSUMER}, None, edges())
    assert "no earlier step of the pipeline composes anything" in refused.fatal[0]


def test_everything_else_is_passed_on() -> None:
    """Composite, readiness and context of the earlier steps arrive as they were."""
    odd: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"n": 1.5, "x": None, "l": []}}
    made = late({}, desired={"odd": odd})
    assert made.desired == {"odd": odd}
    assert made.ready == set()
    assert not made.incomplete
    assert made.message.meta.ttl.seconds == 60
    assert made.conditions == {}
    assert made.lookups == {}

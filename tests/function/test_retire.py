"""What leaves desired, and when: never a resource that is protected, never a Usage whose user lives."""

from __future__ import annotations

import pytest

from support.calls import CLUSTER_USAGE, COMPOSED, OBJECT, RELEASE, Manifest, call, stack, thing, usage

NO_COMPONENTS = {"kind": "Settings", "components": []}
PC = ("helm.m.crossplane.io/v1beta1", "ProviderConfig")
LEAF = thing(RELEASE, "leaf", metadata={"labels": COMPOSED}, spec={"forProvider": {"namespace": "a"}})
PC_BY_LEAF = usage((PC, "pc"), (RELEASE, "leaf"))
LEAF_BY_OTHER = usage((RELEASE, "leaf"), (OBJECT, "other"))


@pytest.mark.parametrize(
    ("observed", "required", "kept"),
    [
        pytest.param({"leaf": LEAF}, {}, {}, id="unprotected: goes"),
        pytest.param(
            {"leaf": LEAF, "u": PC_BY_LEAF},
            {"user-of-u": [LEAF]},
            {"u": True},
            id="its own Usage outlives it",
        ),
        pytest.param({"u": PC_BY_LEAF}, {}, {"u": True}, id="user not asked for yet: Usage stays"),
        pytest.param(
            {"u": PC_BY_LEAF}, {"user-of-u": [LEAF]}, {"u": True}, id="user finalizing: Usage stays"
        ),
        pytest.param(
            {"u": PC_BY_LEAF}, {"user-of-u": []}, {"u": False}, id="user gone: one pass without replay"
        ),
        pytest.param(
            {"u": usage((PC, "pc"), (RELEASE, "leaf"), replay=False)},
            {"user-of-u": []},
            {},
            id="then the Usage goes",
        ),
        pytest.param(
            {"u": usage((PC, "pc"), (RELEASE, "leaf"), replay=False)},
            {"user-of-u": [LEAF]},
            {"u": False},
            id="a user that came back keeps it",
        ),
        pytest.param(
            {"leaf": LEAF, "u": LEAF_BY_OTHER},
            {"user-of-u": [thing(OBJECT, "other")]},
            {"leaf": None, "u": True},
            id="protected: stays with its Usage",
        ),
        pytest.param(
            {"leaf": LEAF, "u": LEAF_BY_OTHER},
            {"user-of-u": []},
            {"leaf": None, "u": False},
            id="protected until the Usage is really gone",
        ),
        pytest.param(
            {"x": thing(OBJECT, "x")}, {}, {}, id="not composed by us: another step of the pipeline decides"
        ),
    ],
)
def test_retire(
    observed: dict[str, Manifest], required: dict[str, list[Manifest]], kept: dict[str, bool | None]
) -> None:
    """Each row: what is observed but no longer planned, what the lookups found, what stays (and replays)."""
    made = call(stack(), observed, required, NO_COMPONENTS)
    left = {k: m for k, m in made.desired.items() if not k.startswith("provider-config-")}
    assert {k: m["spec"].get("replayDeletion") for k, m in left.items()} == kept


def test_a_kept_resource_is_sent_as_observed_without_what_crossplane_wrote() -> None:
    """Spec, our labels and the release name stay; status, UID and Crossplane's own marks are left out."""
    metadata = {
        "labels": {**COMPOSED, "crossplane.io/composite": "demo"},
        "annotations": {
            "crossplane.io/external-name": "mp-x",
            "crossplane.io/composition-resource-name": "leaf",
        },
    }
    leaf = thing(RELEASE, "leaf", ready=True, metadata=metadata, spec={"forProvider": {"namespace": "a"}})
    made = call(stack(), {"leaf": leaf, "u": LEAF_BY_OTHER}, {}, NO_COMPONENTS)
    assert made.desired["leaf"] == {
        "apiVersion": RELEASE[0],
        "kind": "Release",
        "metadata": {
            "name": "leaf",
            "namespace": "modelplane-system",
            "labels": COMPOSED,
            "annotations": {"crossplane.io/external-name": "mp-x"},
        },
        "spec": {"forProvider": {"namespace": "a"}},
    }
    assert made.warnings == [
        "Release modelplane-system/leaf is no longer wanted but kept: u still protects it"
    ]


def test_a_removed_component_goes_in_order_over_the_passes() -> None:
    """The component goes at once, its Usages stay until it is gone, and neither is ever dropped together."""
    observed = {"leaf": LEAF, "u": PC_BY_LEAF}
    first = call(stack(), observed, {}, NO_COMPONENTS)
    assert "leaf" not in first.desired
    assert "u" in first.desired
    assert first.message.meta.ttl.seconds == 10
    lookup = first.lookups["user-of-u"]
    assert (lookup.kind, lookup.match_name, lookup.namespace) == ("Release", "leaf", "modelplane-system")


def test_a_guard_without_user_is_left_to_its_owner() -> None:
    """A reason-only ClusterUsage holds for nobody in particular; nothing can be looked up for it."""
    guard = thing(CLUSTER_USAGE, "g", metadata={"labels": COMPOSED}, spec={"reason": "r"})
    assert "g" not in call(stack(), {"g": guard}, {}, NO_COMPONENTS).desired

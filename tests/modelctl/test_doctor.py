"""What doctor's checks find in a snapshot, and what they leave alone."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from modelctl.doctor.checks import CHECKS
from modelctl.doctor.examine import body, examine, lines
from modelctl.doctor.finding import View
from support.cluster_rows import CLUSTERS, DYING
from support.snapshots import EARLIER, GROUPS, JUST_NOW, condition, inside, made, snapshot

if TYPE_CHECKING:
    from modelctl.snapshot.objects import Snapshot

PATIENCE = timedelta(minutes=5)
POLICIES = [
    made("ValidatingAdmissionPolicy", p, {"failurePolicy": "Fail"})
    for p in ("forceforeground", "protect-platform")
]
BINDINGS = [
    made("ValidatingAdmissionPolicyBinding", p, {"policyName": p, "validationActions": ["Deny"]})
    for p in ("forceforeground", "protect-platform")
]
NARROW = made(
    "ValidatingAdmissionPolicyBinding",
    "narrow",
    {
        "policyName": "forceforeground",
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {}},
    },
)
LLMSERVICE = made("LLMService", "tide", namespace="models", **DYING)
LABELS = {"app.kubernetes.io/name": "llmservice-controller"}
HELD = {"holderIdentity": "one", "leaseDurationSeconds": 60, "renewTime": JUST_NOW}
OURS = "function-inference-cluster"
COMPOSITIONS = ("apiextensions.crossplane.io", "Composition")
REVISION: dict[str, Any] = {"labels": {"pkg.crossplane.io/package": OURS}}


def package(*states: str, image: str = "x:v1") -> dict[str, Any]:
    """Return our Function with its Installed and Healthy conditions."""
    kinds = zip(("Installed", "Healthy"), states, strict=True)
    conditions = [{"type": k, "status": s, "message": "cannot fetch\nit"} for k, s in kinds]
    spec = {"package": image}
    return made("Function", OURS, spec, status={"conditions": conditions})


def revision(desired: str, number: int = 1) -> dict[str, Any]:
    """Return a revision of it."""
    spec = {"desiredState": desired, "revision": number, "image": "x:v1"}
    healthy = condition("RevisionHealthy", "True")
    return made("FunctionRevision", f"fn-{number}", spec, status=healthy, **REVISION)


def provider(name: str, made_at: str, image: str) -> dict[str, Any]:
    """Return a Provider."""
    return made("Provider", name, {"package": image}, creationTimestamp=made_at)


def composition(function: str) -> dict[str, Any]:
    """Return a Composition whose only step calls a function."""
    return made("Composition", "x", {"pipeline": [{"step": "one", "functionRef": {"name": function}}]})


# id, check, snapshot, what is said of each finding: a part of the object, the text or the command
ROWS: list[tuple[str, str, Snapshot, list[str]]] = [
    ("no Usages at all", "crossplane", snapshot(groups=frozenset({"apps"})), ["Crossplane 2 is needed"]),
    ("Usages", "crossplane", snapshot(), []),
    ("no webhook", "usage-webhook", snapshot(), ["kubectl rollout restart deployment crossplane"]),
    (
        "a lenient webhook",
        "usage-webhook",
        snapshot(made("ValidatingWebhookConfiguration", "crossplane-no-usages", webhooks=[{}])),
        ["/webhooks/0/failurePolicy"],
    ),
    ("no function", "packages", snapshot(), ["is not installed: no InferenceCluster is composed"]),
    ("a healthy function", "packages", snapshot(package("True", "True"), revision("Active")), []),
    (
        "no active revision",
        "packages",
        snapshot(package("True", "True"), revision("Inactive"), revision("Inactive", 12)),
        ["patch functionrevision.pkg.crossplane.io fn-12 --type=merge"],
    ),
    (
        "a package that cannot be had",
        "packages",
        snapshot(package("False", "True", image="x:v2"), revision("Active")),
        ["is not installed: cannot fetch it"],
    ),
    (
        "a sick revision",
        "packages",
        snapshot(package("True", "False"), revision("Active")),
        ["kubectl describe functionrevision.pkg.crossplane.io fn-1"],
    ),
    ("one of each", "packages-twice", snapshot(package("True", "True"), provider("a", "b", "x/helm:v1")), []),
    (
        "the same under two names",
        "packages-twice",
        snapshot(provider("new", "2", "x.org:5/helm@sha256:1"), provider("old", "1", "x.org:5/helm:v1")),
        ["Provider new: is the same package as old"],
    ),
    ("a function that is called", "composition", snapshot(package("True", "True"), composition(OURS)), []),
    ("compositions unseen", "composition", snapshot(package("True", "True"), unread=(COMPOSITIONS,)), []),
    (
        "no Composition of it",
        "composition",
        snapshot(package("True", "True", image=f"x.org:5/team/{OURS}:v1"), composition("other")),
        ["crossplane xpkg install configuration x.org:5/team/configuration-inference-cluster:v0.1.0"],
    ),
    (
        "no Composition of one from elsewhere",
        "composition",
        snapshot(package("True", "True")),
        ["crossplane xpkg install configuration REGISTRY/"],
    ),
    (
        "a Configuration that cannot be had",
        "composition",
        snapshot(package("True", "True"), made("Configuration", "team-configuration-inference-cluster")),
        [],
    ),
    ("no Configuration", "roles", snapshot(package("True", "True")), []),
    (
        "a Configuration without its roles",
        "roles",
        snapshot(
            made("Configuration", "configuration-inference-cluster"), made("ClusterRole", f"{OURS}:read")
        ),
        ["ClusterRole function-inference-cluster:compose: is missing"],
    ),
    ("no policies", "policies", snapshot(), ["is not installed", "is not installed"]),
    ("policies", "policies", snapshot(*POLICIES, *BINDINGS), []),
    ("not bound", "policies", snapshot(*POLICIES, BINDINGS[1]), ["forceforeground: is bound nowhere"]),
    (
        "bound in places",
        "policies",
        snapshot(*POLICIES, BINDINGS[1], NARROW),
        ["Binding narrow: does not refuse"],
    ),
    (
        "policies unseen",
        "policies",
        snapshot(unread=(("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),)),
        [],
    ),
    ("no services", "controller", snapshot(), []),
    ("no controller", "controller", snapshot(LLMSERVICE), ["1 of 1 LLMServices wait for it"]),
    ("a leader", "controller", snapshot(LLMSERVICE, made("Lease", "one", HELD)), []),
    (
        "a leader that died",
        "controller",
        snapshot(LLMSERVICE, made("Lease", "one", {**HELD, "renewTime": EARLIER})),
        ["kubectl apply -k operator/deploy/"],
    ),
    (
        "scaled to nothing",
        "controller",
        snapshot(LLMSERVICE, made("Deployment", "llmservice-controller", namespace="llm", labels=LABELS)),
        ["kubectl scale deployment llmservice-controller -n llm --replicas=2"],
    ),
    (
        "a ServingStack's, without a leader",
        "controller",
        snapshot(
            LLMSERVICE,
            made("Deployment", "crossplane", namespace="a"),
            made("Deployment", "mp-llm-operator-1a2b3c4d", {"replicas": 2}, namespace="llm", labels=LABELS),
        ),
        ["kubectl describe deployment mp-llm-operator-1a2b3c4d -n llm"],
    ),
    *CLUSTERS,
    (
        "an owner that is gone",
        "definitions",
        snapshot(
            made(
                "CompositeResourceDefinition",
                "x",
                ownerReferences=[{"kind": "ConfigurationRevision", "name": "y"}],
            )
        ),
        ["/metadata/ownerReferences/0"],
    ),
    (
        "an owner that is there",
        "definitions",
        snapshot(
            made(
                "CompositeResourceDefinition",
                "x",
                ownerReferences=[{"kind": "ConfigurationRevision", "name": "y"}],
            ),
            made("ConfigurationRevision", "y"),
        ),
        [],
    ),
    (
        "a broken glass",
        "break-glass",
        snapshot(inside("EKSCluster", "b", annotations={"policies.modelplane.ai/allow-deletion": "true"})),
        ["policies.modelplane.ai/allow-deletion-"],
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_check(row: tuple[str, str, Snapshot, list[str]]) -> None:
    """A check finds exactly what is wrong, names the object and gives a command that a shell can run."""
    _, check, seen, expected = row
    found = list(CHECKS[check](View(seen, PATIENCE)))
    said = [f"{finding.object}: {finding.what}; run: {finding.command}" for finding in found]
    assert len(said) == len(expected), said
    for text, part in zip(said, expected, strict=True):
        assert part in text
    for finding in found:
        assert shlex.split(finding.command)[0] in ("kubectl", "helm", "crossplane")
        assert "\n" not in finding.what


def test_every_check_has_a_row() -> None:
    """Each check is tried with something to find and with nothing to find."""
    assert {row[1] for row in ROWS if row[3]} == set(CHECKS)


def test_lines() -> None:
    """One line a finding, the worst first; the same as JSON; what could not be read is said."""
    labels = {"app.kubernetes.io/version": "2.3.4"}
    seen = snapshot(
        made("ClusterRole", "crossplane", labels=labels),
        inside("EKSCluster", "b", annotations={"policies.modelplane.ai/allow-deletion": "true"}),
        package("True", "True"),
        revision("Active"),
        composition(OURS),
        *POLICIES,
        *BINDINGS,
        unread=(("", "Secret"),),
    )
    found = examine(seen, PATIENCE)
    first, unread, worst, mild, last = lines(seen, found)
    assert first == "crossplane 2.3.4: Usages"
    assert unread == "unknown  Secret: forbidden"
    assert worst.startswith("error    ValidatingWebhookConfiguration crossplane-no-usages: ")
    assert mild.startswith("warning  EKSCluster modelplane-system/b: ")
    assert last == "2 findings"
    told: Any = body(seen, found)
    assert [one["check"] for one in told["findings"]] == ["usage-webhook", "break-glass"]
    assert told["findings"][1]["severity"] == "warning"
    assert "ops.crossplane.io" not in GROUPS

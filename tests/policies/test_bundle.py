"""What the shipped files say, whatever a server makes of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from controlplane.toolbox import Toolbox
from policies.bundle import FLAT, documents, kustomize
from policies.kinds import COVERED, Object
from policies.table import BUNDLE

if TYPE_CHECKING:
    from pathlib import Path

# What Kubernetes 1.30 has without a feature gate, as far as the bundle needs it.
FUNCTIONS = {"has", "exists", "matches", "split"}
OPERATORS = {"&&", "||", "!", "==", "!=", "?", ":", "+", "in"}
ENFORCING = ("forceforeground", "protect-platform")
RECORDING = ("forceforeground-break-glass", "protect-platform-break-glass")

_STRING = re.compile(r"'[^']*'")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


@pytest.fixture(scope="module")
def kubectl() -> str:
    """Return the kubectl that the project builds; its kustomize is the one that users have."""
    return Toolbox.ready()["kubectl"]


def _policies() -> dict[str, Object]:
    manifests = documents(FLAT.read_text())
    return {d["metadata"]["name"]: d for d in manifests if d["kind"] == "ValidatingAdmissionPolicy"}


def _bindings(text: str) -> dict[str, Object]:
    return {
        d["metadata"]["name"]: d for d in documents(text) if d["kind"] == "ValidatingAdmissionPolicyBinding"
    }


def _expressions(policy: Object) -> list[str]:
    spec = policy["spec"]
    entries = [*spec.get("matchConditions", ()), *spec["variables"], *spec["validations"]]
    return [entry[key] for entry in entries for key in ("expression", "messageExpression") if key in entry]


def _code(policy: Object) -> str:
    """Return all expressions of a policy with what stands in quotes taken out."""
    return "\n".join(_STRING.sub("''", expression) for expression in _expressions(policy))


def test_flat_file_is_what_kustomize_makes(kubectl: str) -> None:
    """The flat file is the output of kustomize, byte for byte (`make policies` writes it)."""
    assert FLAT.read_text() == kustomize(kubectl, BUNDLE)


def test_default_is_enforce(kubectl: str) -> None:
    """`kubectl apply -k policies/` installs the overlay `enforce`."""
    assert kustomize(kubectl, BUNDLE) == kustomize(kubectl, BUNDLE / "overlays" / "enforce")


def test_names_and_actions() -> None:
    """Policies and bindings bear the documented names; what enforces denies, what records warns."""
    assert set(_policies()) == {*ENFORCING, *RECORDING}
    found = {
        name: (b["spec"]["policyName"], b["spec"]["validationActions"])
        for name, b in _bindings(FLAT.read_text()).items()
    }
    assert found == {
        "foregroundbinding": ("forceforeground", ["Deny"]),
        "protect-platform": ("protect-platform", ["Deny"]),
        **{name: (name, ["Warn", "Audit"]) for name in RECORDING},
    }


def test_audit_overlay_refuses_nothing(kubectl: str) -> None:
    """The overlay `audit` differs from `enforce` in the actions of the bindings and the label alone."""
    text = kustomize(kubectl, BUNDLE / "overlays" / "audit")
    assert {tuple(b["spec"]["validationActions"]) for b in _bindings(text).values()} == {("Warn", "Audit")}
    enforce = (
        FLAT.read_text()
        .replace("mode: enforce", "mode: audit")
        .replace("  - Deny\n", "  - Warn\n  - Audit\n")
    )
    assert text == enforce


@pytest.mark.parametrize("name", [*ENFORCING, *RECORDING])
def test_only_deletes_are_judged(name: str) -> None:
    """A policy that also judged updates would hang every foreground delete (chaos-mesh/chaos-mesh#5079)."""
    spec = _policies()[name]["spec"]
    rules = spec["matchConstraints"]["resourceRules"]
    assert {tuple(rule["operations"]) for rule in rules} == {("DELETE",)}
    assert {tuple(rule["apiVersions"]) for rule in rules} == {("*",)}
    # A delete of a collection carries no name; parameters may be gone before what they protect.
    assert all("resourceNames" not in rule for rule in rules)
    assert "paramKind" not in spec
    assert spec["failurePolicy"] == "Fail"
    assert not any("/" in resource for rule in rules for resource in rule["resources"])


@pytest.mark.parametrize("name", [*ENFORCING, *RECORDING])
def test_expressions_read_what_every_delete_has(name: str) -> None:
    """Expressions read options, user, dry-run flag and kind of the request, and the old object's fields."""
    roots = {".".join(path.split(".")[:2]) for path in _NAME.findall(_code(_policies()[name])) if "." in path}
    allowed = {
        "oldObject.metadata",
        "oldObject.spec",
        "request.options",
        "request.userInfo",
        "request.dryRun",
    }
    allowed |= {"request.kind", "request.resource", "owner.controller"}
    assert {root for root in roots if not root.startswith("variables.")} <= allowed
    assert ".labels" not in _code(_policies()[name])
    assert "request.name" not in _code(_policies()[name]).replace("request.namespace", "")


def test_functions_and_operators_are_those_of_kubernetes_1_30() -> None:
    """The bundle calls four functions and uses nine operators, all of which Kubernetes 1.30 has."""
    code = "\n".join(_code(policy) for policy in _policies().values())
    assert set(re.findall(r"([A-Za-z_]+)\(", code)) == FUNCTIONS
    without_names = _NAME.sub(lambda match: "in" if match[0] == "in" else "", code)
    signs = set(re.findall(r"&&|\|\||!=|==|in|[!?:+<>*%-]", without_names))
    assert signs == OPERATORS


def test_rules_list_the_covered_kinds() -> None:
    """Forceforeground and its recorder match every covered kind and nothing else."""
    expected = {(kind.group, kind.plural) for kind in COVERED}
    for name in ("forceforeground", "forceforeground-break-glass"):
        rules = _policies()[name]["spec"]["matchConstraints"]["resourceRules"]
        assert {
            (rule["apiGroups"][0], resource) for rule in rules for resource in rule["resources"]
        } == expected


def test_platform_lists_the_covered_kinds() -> None:
    """protect-platform knows the definitions, kinds and groups of every covered kind."""
    variables = {v["name"]: v["expression"] for v in _policies()["protect-platform"]["spec"]["variables"]}
    lists = {
        name: set(re.findall(r"'([^']+)'", variables[name])) for name in ("definitions", "kinds", "groups")
    }
    assert lists == {
        "definitions": {f"{kind.plural}.{kind.group}" for kind in COVERED},
        "kinds": {kind.kind for kind in COVERED},
        "groups": {kind.group for kind in COVERED},
    }


def test_recorders_match_what_they_record() -> None:
    """A break-glass policy matches exactly what the policy does whose annotation it watches."""
    policies = _policies()
    for enforcing, recording in zip(ENFORCING, RECORDING, strict=True):
        assert (
            policies[enforcing]["spec"]["matchConstraints"] == policies[recording]["spec"]["matchConstraints"]
        )


def test_crossplane_in_another_namespace(kubectl: str, tmp_path: Path) -> None:
    """The README's kustomization puts another namespace into both policies and changes nothing else."""
    readme = (BUNDLE / "README.md").read_text()
    for name in ("kustomization.yaml", "crossplane.yaml"):
        shown = re.search(rf"```yaml\n# {name}\n(.*?)```", readme, re.DOTALL)
        assert shown, f"the README shows no {name}"
        (tmp_path / name).write_text(shown[1].replace("path/to/policies", _relative(tmp_path)))
    replaced = FLAT.read_text().replace("serviceaccount:crossplane-system:", "serviceaccount:upbound-system:")
    assert kustomize(kubectl, tmp_path) == replaced


def _relative(folder: Path) -> str:
    return "/".join([".."] * (len(folder.resolve().parts) - 1)) + str(BUNDLE.resolve())

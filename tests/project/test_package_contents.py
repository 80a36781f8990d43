"""The two packages, their Compositions and the ClusterRoles fit each other."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from project.schemas import CONFIGURATION, PACKAGE, ROOT, documents, problems, schema_of

META = {name: documents(PACKAGE / name / "crossplane.yaml")[0] for name in ("function", "configuration")}
COMPOSITIONS = [documents(path)[0] for path in sorted(CONFIGURATION.glob("apis/*/composition.yaml"))]
ROLES = documents(PACKAGE / "rbac.yaml")
(BUILTIN_TABLE,) = yaml.safe_load_all((ROOT / "function" / "stack" / "components.yaml").read_text())
DOCUMENTED_INPUT = yaml.safe_load((PACKAGE / "README.md").read_text().split("```yaml")[1].split("```")[0])[
    "input"
]
CONFIGURATION_KINDS = {"CompositeResourceDefinition", "Composition", "ManagedResourceActivationPolicy"}
GRANTED_BY_CROSSPLANE = {"", "protection.crossplane.io", "apiextensions.crossplane.io", "pkg.crossplane.io"}


def contents(package: str) -> list[dict[str, Any]]:
    """Give every object of a package but its crossplane.yaml."""
    files = sorted((PACKAGE / package).rglob("*.yaml"))
    return [document for path in files if path.name != "crossplane.yaml" for document in documents(path)]


def dependency(kind: str, name: str) -> dict[str, str]:
    """Give the Configuration's dependency on the package whose repository ends with `name`."""
    depends: list[dict[str, str]] = META["configuration"]["spec"]["dependsOn"]
    (found,) = [d for d in depends if d["kind"] == kind and d["package"].endswith(name)]
    return found


@pytest.mark.parametrize(("package", "kind"), [("function", "Function"), ("configuration", "Configuration")])
def test_package_metadata(package: str, kind: str) -> None:
    """Each crossplane.yaml names its kind, a version of Crossplane that has v2 XRDs, and itself."""
    meta = META[package]
    assert (meta["apiVersion"], meta["kind"]) == ("meta.pkg.crossplane.io/v1", kind)
    assert meta["metadata"]["name"] == f"{kind.lower()}-inference-cluster"
    assert meta["spec"]["crossplane"]["version"] == ">=v2.0.0"


def test_function_says_what_it_does() -> None:
    """Crossplane calls a Function for a composite only if it has the capability."""
    assert META["function"]["spec"]["capabilities"] == ["composition"]


@pytest.mark.parametrize("name", ["provider-kubernetes", "provider-helm"])
def test_providers_come_along(name: str) -> None:
    """The providers whose kinds are composed are installed with the Configuration."""
    assert dependency("Provider", name)["version"] == ">=v1.2.0 <v2.0.0"


def test_installed_dependency_has_the_called_name() -> None:
    """Crossplane names a dependency after its repository path; the Compositions must call it by that name."""
    _, _, path = dependency("Function", "")["package"].partition("/")
    called = {step["functionRef"]["name"] for c in COMPOSITIONS for step in c["spec"]["pipeline"]}
    assert called == {re.sub(r"[^a-z0-9]", "-", path)}


def test_packages_hold_only_what_crossplane_takes() -> None:
    """Another kind in a package makes its installation fail."""
    assert {document["kind"] for document in contents("configuration")} == CONFIGURATION_KINDS
    assert {document["kind"] for document in contents("function")} == {"CustomResourceDefinition"}


def test_every_composite_has_a_composition() -> None:
    """Each XRD has exactly one Composition, for its own kind and version."""
    defined = [
        (f"{xrd['spec']['group']}/{xrd['spec']['versions'][0]['name']}", xrd["spec"]["names"]["kind"])
        for xrd in contents("configuration")
        if xrd["kind"] == "CompositeResourceDefinition"
    ]
    refs = [c["spec"]["compositeTypeRef"] for c in COMPOSITIONS]
    assert sorted((ref["apiVersion"], ref["kind"]) for ref in refs) == sorted(defined)


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda c: str(c["metadata"]["name"]))
def test_inputs_fit_their_schema(composition: dict[str, Any]) -> None:
    """What a Composition gives the function is Settings as documented."""
    (step,) = composition["spec"]["pipeline"]
    assert composition["spec"]["mode"] == "Pipeline"
    assert (step["input"]["apiVersion"], step["input"]["kind"]) == (
        "inference.modelplane.ai/v1alpha1",
        "Settings",
    )
    assert problems(step["input"], schema_of("Settings")) == []


@pytest.mark.parametrize("table", [BUILTIN_TABLE, DOCUMENTED_INPUT["components"]], ids=["built in", "README"])
def test_component_tables_fit_their_schema(table: list[dict[str, Any]]) -> None:
    """The built-in table and the documented one could each be given as input."""
    assert problems({"components": table}, schema_of("Settings")) == []


def test_nothing_is_asked_for_that_is_not_installed() -> None:
    """Our own Composition names no kind of another product: one that is missing fails the whole pipeline."""
    (composition,) = [c for c in COMPOSITIONS if c["spec"]["compositeTypeRef"]["kind"] == "InferenceCluster"]
    assert composition["spec"]["pipeline"][0]["input"]["consumers"] == []


@pytest.mark.parametrize("role", ROLES, ids=lambda role: str(role["metadata"]["name"]))
def test_roles_reach_crossplane_and_are_least(role: dict[str, Any]) -> None:
    """Each role is aggregated to Crossplane, names every right, and repeats nothing of Crossplane's chart."""
    assert role["metadata"]["labels"] == {"rbac.crossplane.io/aggregate-to-crossplane": "true"}
    for rule in role["rules"]:
        assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
        assert not GRANTED_BY_CROSSPLANE & set(rule["apiGroups"])


def test_every_rule_says_who_needs_it() -> None:
    """A reader of the roles learns for each rule why it is there."""
    lines = (PACKAGE / "rbac.yaml").read_text().splitlines()
    rules = [number for number, line in enumerate(lines) if line.startswith("- apiGroups")]
    assert len(rules) == sum(len(role["rules"]) for role in ROLES)
    assert [lines[number] for number in rules if not lines[number - 1].startswith("#")] == []


def test_package_files_are_yaml() -> None:
    """No file of another kind strays into a package folder, where it would be built in."""
    strays = [
        p.name
        for name in META
        for p in Path(PACKAGE / name).rglob("*")
        if p.is_file() and p.suffix != ".yaml"
    ]
    assert strays == []

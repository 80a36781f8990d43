"""A small platform of the covered kinds, packaged and installed on a plane with Crossplane as a user would.

InferenceCluster -> ServingStack -> ConfigMap, and ModelDeployment -> ModelReplica -> ConfigMap: three levels
each, which Crossplane builds up and the garbage collector takes down.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from policies.bundle import settle
from policies.kinds import KINDS, PATIENCE, Kind, Object
from policies.table import BUNDLE

if TYPE_CHECKING:
    from controlplane.plane import Plane
    from policies.wire import Wire

HOME = "modelplane-system"
FUNCTION, CONFIGURATION = "function-inference-cluster", "configuration-inference-cluster"
XRDS = "apiextensions.crossplane.io/v2"
PACKAGES = "pkg.crossplane.io/v1"
_FUNCTION_FILE = Path(__file__).parent / "served" / "compose.py"
_RBAC = "rbac.authorization.k8s.io/v1"


def _child(kind: str, name: str, namespace: str | None = None) -> Object:
    version = KINDS[kind].api_version() if kind in KINDS else "v1"
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    child: Object = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return {**child, "spec": {}} if kind in KINDS else child


# What a composite of each kind composes.
COMPOSES: dict[str, list[Object]] = {
    "InferenceCluster": [_child("ServingStack", "{name}-stack", HOME)],
    "ServingStack": [_child("ConfigMap", "{name}-settings")],
    "ModelDeployment": [_child("ModelReplica", "{name}-0")],
    "ModelReplica": [_child("ConfigMap", "{name}-settings")],
    "EKSCluster": [],
    "ModelCache": [],
}


def install(plane: Plane) -> None:
    """Install rights, namespace, Function and Configuration, and return when all kinds are served."""
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
    plane.api.apply(_may_compose_config_maps())
    plane.packages.serve_function(FUNCTION, [sys.executable, str(_FUNCTION_FILE)])
    function = _package(plane, "Function", FUNCTION, {"capabilities": ["composition"]})
    plane.packages.install(
        "Function",
        FUNCTION,
        plane.packages.build_and_push(function, f"platform/{FUNCTION}", "v0.1.0"),
        PATIENCE,
    )
    plane.packages.install("Configuration", CONFIGURATION, push_configuration(plane, "v0.1.0"), PATIENCE)
    plane.wait(
        lambda: all(established(plane, kind) for kind in COMPOSES),
        "the platform's kinds are served",
        PATIENCE,
    )


def push_configuration(plane: Plane, version: str) -> str:
    """Build a version of the Configuration and push it; every version's Compositions are labelled with it."""
    root = _package(plane, "Configuration", CONFIGURATION, {})
    for kind, children in COMPOSES.items():
        _write(root / f"{kind}-definition.yaml", definition(KINDS[kind]))
        _write(root / f"{kind}-composition.yaml", composition(KINDS[kind], children, version))
    return plane.packages.build_and_push(root, f"platform/{CONFIGURATION}", version)


def definition(kind: Kind) -> Object:
    """Return the XRD of a kind, with an open spec."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": kind.versions[0],
        "served": True,
        "referenceable": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
    }
    return {
        "apiVersion": XRDS,
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": {"kind": kind.kind, "plural": kind.plural},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def composition(kind: Kind, children: list[Object], version: str) -> Object:
    """Return the Composition of a kind."""
    step = {
        "step": "compose",
        "functionRef": {"name": FUNCTION},
        "input": {"apiVersion": "tests.modelplane.ai/v1", "kind": "Resources", "resources": children},
    }
    return {
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", "labels": {"version": version}},
        "spec": {
            "compositeTypeRef": {"apiVersion": kind.api_version(), "kind": kind.kind},
            "mode": "Pipeline",
            "pipeline": [step],
        },
    }


def established(plane: Plane, kind: str) -> bool:
    """Say whether Crossplane serves a kind and composes it."""
    xrd = plane.api.find(XRDS, "CompositeResourceDefinition", xrd_name(kind))
    return condition(xrd, "Established") == "True"


def xrd_name(kind: str) -> str:
    """Return the name of a kind's XRD, CRD and Composition."""
    return f"{KINDS[kind].plural}.{KINDS[kind].group}"


def condition(obj: Object | None, name: str) -> str:
    """Return the status of a condition, empty when there is none."""
    conditions: list[dict[str, Any]] = (obj or {}).get("status", {}).get("conditions", [])
    return next((str(entry["status"]) for entry in conditions if entry["type"] == name), "")


def apply_bundle(plane: Plane, wire: Wire) -> None:
    """Install the bundle in the way of the README and wait until the server acts on it."""
    plane.kubectl("apply", "-k", str(BUNDLE))
    settle(wire)


def _package(plane: Plane, kind: str, name: str, spec: Object) -> Path:
    root = plane.state.private("platform", kind.lower())
    _write(
        root / "crossplane.yaml",
        {"apiVersion": f"meta.{PACKAGES}", "kind": kind, "metadata": {"name": name}, "spec": spec},
    )
    return root


def _write(path: Path, manifest: Object) -> None:
    path.write_text(yaml.safe_dump(manifest, sort_keys=False))


def _may_compose_config_maps() -> Object:
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    return {
        "apiVersion": _RBAC,
        "kind": "ClusterRole",
        "metadata": {
            "name": "platform:compose",
            "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"},
        },
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    }

"""Puts policies on an API server, takes them off, and knows when the server acts on it."""

from __future__ import annotations

import copy
import subprocess
import uuid
from typing import TYPE_CHECKING

import yaml

from policies.play import until
from policies.table import BUNDLE

if TYPE_CHECKING:
    from pathlib import Path

    from policies.kinds import Object
    from policies.wire import Wire

FLAT = BUNDLE / "bundle.yaml"
_TRIES = 20
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def kustomize(kubectl: str, folder: Path) -> str:
    """Return what kustomize makes of a folder."""
    done = subprocess.run([kubectl, "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def documents(text: str) -> list[Object]:
    """Return the manifests of a YAML stream, policies first."""
    return sorted(yaml.safe_load_all(text), key=lambda manifest: len(str(manifest["kind"])))


def install(wire: Wire, manifests: list[Object]) -> None:
    """Create or replace policies and bindings and wait until the server acts on them."""
    for manifest in manifests:
        _replace(wire, manifest)
    settle(wire)


def remove(wire: Wire, manifests: list[Object]) -> None:
    """Delete policies and bindings and wait until the server acts on it."""
    for manifest in manifests:
        wire.send("DELETE", _path(manifest))
    settle(wire)


def settle(wire: Wire) -> None:
    """Wait until the server acts on every policy and binding written so far.

    It sees them in the order of their writing, so one more of each, written last, tells.
    """
    name = f"settle-{uuid.uuid4().hex[:8]}"
    target = "/api/v1/namespaces/default/configmaps"
    wire.must("POST", target, {"metadata": {"name": name}})
    policy, binding = _refuses_configmap(name)
    for manifest in (policy, binding):
        _replace(wire, manifest)
    until(lambda: not wire.send("DELETE", f"{target}/{name}", query={"dryRun": "All"}).allowed)
    for manifest in (binding, policy):
        wire.must("DELETE", _path(manifest))


def moved(manifest: Object, groups: str, prefix: str) -> Object:
    """Return a policy or binding under another name, for the stand-ins that `kinds.Kind.moved` makes."""
    copied = copy.deepcopy(manifest)
    copied["metadata"] = {"name": f"{prefix}-{manifest['metadata']['name']}"}
    if manifest["kind"] == "ValidatingAdmissionPolicyBinding":
        copied["spec"]["policyName"] = f"{prefix}-{manifest['spec']['policyName']}"
        return copied
    for rule in copied["spec"]["matchConstraints"]["resourceRules"]:
        rule["apiGroups"] = [f"{group or 'core'}.{groups}" for group in rule["apiGroups"]]
    return copied


def _replace(wire: Wire, manifest: Object) -> None:
    path = _path(manifest)
    created = wire.send("POST", path.rpartition("/")[0], manifest)
    if created.allowed:
        return
    assert created.code == 409, f"{path}: {created.message}"
    for _ in range(_TRIES):  # The controller manager writes the status of a new one.
        version = {"resourceVersion": wire.must("GET", path).body["metadata"]["resourceVersion"]}
        put = wire.send("PUT", path, {**manifest, "metadata": {**manifest["metadata"], **version}})
        if put.code != 409:
            break
    assert put.allowed, f"{path}: {put.message}"


def _path(manifest: Object) -> str:
    return f"{_ADMISSION}/{_PLURALS[manifest['kind']]}/{manifest['metadata']['name']}"


def _refuses_configmap(name: str) -> tuple[Object, Object]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"oldObject.metadata.name != '{name}'"}],
    }
    return admission("ValidatingAdmissionPolicy", name, spec), admission(
        "ValidatingAdmissionPolicyBinding", name, {"policyName": name, "validationActions": ["Deny"]}
    )


def admission(kind: str, name: str, spec: Object) -> Object:
    """Return a policy or binding."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }

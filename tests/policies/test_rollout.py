"""What the server makes of the bundle when it is installed: types, the audit overlay, its audit log."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING

import pytest

from policies.bundle import FLAT, documents, install, kustomize, moved, remove
from policies.kinds import COVERED, KINDS, Kind, Object
from policies.play import Ground, serve, until
from policies.table import BUNDLE
from policies.wire import Answer, User, Wire

if TYPE_CHECKING:
    from controlplane.plane import Plane

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
CLUSTERS = KINDS["InferenceCluster"]
DANA = User("dana@ops.test")


AUDITED = KINDS["InferenceCluster"].moved("audited.example.org")


@pytest.fixture(scope="module")
def audited(plane: Plane, wire: Wire) -> Kind:
    """Return a kind that the overlay `audit` judges, beside the kinds that the plane's bundle does."""
    serve(wire, [AUDITED])
    overlay = documents(kustomize(plane.tools["kubectl"], BUNDLE / "overlays" / "audit"))
    install(wire, [moved(manifest, "audited.example.org", "audited") for manifest in overlay])
    return AUDITED


def _type_warnings(wire: Wire, name: str) -> list[Object]:
    """Return what the server's type checker says about the present version of a policy."""

    def status() -> Object:
        body = wire.must("GET", f"{POLICIES}/{name}").body
        status: Object = body.get("status", {})
        return status if status.get("observedGeneration") == body["metadata"]["generation"] else {}

    until(lambda: "typeChecking" in status())
    warnings: list[Object] = status()["typeChecking"].get("expressionWarnings", [])
    return warnings


def _checked(wire: Wire, policy: Object) -> list[Object]:
    install(wire, [policy])
    try:
        return _type_warnings(wire, policy["metadata"]["name"])
    finally:
        remove(wire, [policy])


def _policies() -> list[Object]:
    return [d for d in documents(FLAT.read_text()) if d["kind"] == "ValidatingAdmissionPolicy"]


def _typed(policy: Object) -> Object:
    """Return a copy for the first versions of the covered kinds alone: the server checks no wildcards."""
    copied = copy.deepcopy(policy)
    copied["metadata"] = {"name": f"typed-{policy['metadata']['name']}"}
    versions = {kind.group: kind.versions[0] for kind in COVERED}
    for rule in copied["spec"]["matchConstraints"]["resourceRules"]:
        rule["apiVersions"] = [versions.get(rule["apiGroups"][0], "v1")]
    return copied


@pytest.mark.parametrize("policy", _policies(), ids=lambda policy: policy["metadata"]["name"])
def test_no_type_warnings(ground: Ground, policy: Object) -> None:
    """The server's type checker has nothing to say of the policy, nor of one bound to real schemas."""
    assert _type_warnings(ground.wire, policy["metadata"]["name"]) == []
    assert _checked(ground.wire, _typed(policy)) == []


def test_type_checker_notices(ground: Ground) -> None:
    """The same checker does complain about an expression that compares a name with a number."""
    broken = _typed(_policies()[0])
    broken["metadata"]["name"] = "broken"
    broken["spec"]["validations"] = [{"expression": "oldObject.metadata.name == 3"}]
    assert _checked(ground.wire, broken) != []


def _deleted(wire: Wire, kind: Kind, metadata: Object, options: Object) -> Answer:
    collection = f"{kind.root()}/{kind.plural}"
    wire.must("POST", collection, {"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata})
    return wire.send("DELETE", f"{collection}/{metadata['name']}", options, user=DANA)


def test_audit_overlay_warns_and_lets_pass(wire: Wire, audited: Kind) -> None:
    """Under `audit` a background delete is carried out and the client is told what `enforce` would say."""
    answer = _deleted(wire, audited, {"name": "audited-1"}, {"propagationPolicy": "Background"})
    assert answer.allowed
    assert "kubectl delete inferenceclusters audited-1 --cascade=foreground" in "".join(answer.warnings)


def test_audit_overlay_writes_to_the_audit_log(plane: Plane, wire: Wire, audited: Kind) -> None:
    """Under `audit` the audit log says which policy would have refused which request, and why."""
    _deleted(wire, audited, {"name": "audited-2"}, {})
    [failure] = _failures(plane, "audited-2")
    assert (failure["policy"], failure["binding"]) == ("audited-forceforeground", "audited-foregroundbinding")
    assert "audited-2" in failure["message"]


def test_break_glass_is_on_record(plane: Plane, ground: Ground) -> None:
    """Whoever breaks the glass is in the audit log with the object and the policy that was asked for."""
    annotations = {"policies.modelplane.ai/allow-background-deletion": "true"}
    metadata = {"name": "broken-glass", "annotations": annotations}
    answer = _deleted(ground.wire, CLUSTERS, metadata, {"propagationPolicy": "Orphan"})
    assert answer.allowed
    [failure] = _failures(plane, "broken-glass")
    assert failure["policy"] == "forceforeground-break-glass"
    assert "InferenceCluster broken-glass was deleted with Orphan by dana@ops.test" in failure["message"]


def _failures(plane: Plane, name: str) -> list[Object]:
    """Return what policies noted in the audit log about deletes of an object."""
    key = "validation.policy.admission.k8s.io/validation_failure"

    def noted() -> list[Object]:
        events = [event for event in plane.audit() if event["verb"] == "delete" and "annotations" in event]
        mine = [event for event in events if event.get("objectRef", {}).get("name") == name]
        return [
            entry
            for event in mine
            if key in event["annotations"]
            for entry in json.loads(event["annotations"][key])
        ]

    until(lambda: bool(noted()))
    return noted()

"""Plays a case: puts its object in place, sends its request as its user, and judges the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from policies.kinds import BUILT_IN, KINDS, PATIENCE, Kind, Object, crd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from policies.table import Case
    from policies.wire import Answer, Wire

HOLD = "policies.modelplane.ai/hold"
NAMESPACES = ("fleet-a", "modelplane-system")
_SUBRESOURCES = {"STATUS": "/status", "SCALE": "/scale"}


@dataclass
class Ground:
    """Where cases are played: the kinds themselves, or stand-ins of another group that only mutants judge.

    `labels` go on every object, `suffix` on every name that a case leaves open.
    """

    wire: Wire
    stand_ins: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    suffix: str = ""

    def kind(self, kind: Kind) -> Kind:
        """Return the kind that stands for a kind here."""
        return kind.moved(self.stand_ins) if self.stand_ins else kind

    def labelled(self, suffix: str, labels: dict[str, str]) -> Ground:
        """Return the same ground for other objects, told apart by their names' suffix and their labels."""
        return replace(self, labels=labels, suffix=suffix)

    def collection(self, case: Case, version: str = "") -> str:
        """Return the path of the collection that a case's object belongs to, in a version of the API."""
        kind = self.kind(case.kind)
        scope = f"/namespaces/{case.object.get('namespace', 'fleet-a')}" if kind.namespaced else ""
        return f"{kind.root(version)}{scope}/{kind.plural}"


def build(ground: Ground, kinds: Iterable[Kind] = KINDS.values()) -> None:
    """Install the CRDs, namespaces and owners that cases of `kinds` need; every user may do everything."""
    wire, owner = ground.wire, ground.kind(KINDS["InferenceCluster"])
    served = [ground.kind(kind) for kind in kinds if ground.stand_ins or kind.group not in BUILT_IN]
    serve(wire, served)
    for namespace in NAMESPACES:
        _create(wire, KINDS["Namespace"], {"metadata": {"name": namespace}})
    if owner in served:
        manifest = {"apiVersion": owner.api_version(), "kind": owner.kind, "metadata": {"name": "owner"}}
        _create(wire, owner, manifest)
        wire.send("POST", "/api/v1/namespaces/fleet-a/configmaps", {"metadata": {"name": "other"}})
    wire.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", _everybody())


def serve(wire: Wire, kinds: list[Kind]) -> None:
    """Install open CRDs and wait until the server serves them in all their versions."""
    for kind in kinds:
        _create(wire, KINDS["CustomResourceDefinition"], crd(kind))
    paths = [f"{kind.root(version)}/{kind.plural}" for kind in kinds for version in kind.versions]
    until(lambda: all(wire.send("GET", path).allowed for path in paths))


def play(ground: Ground, case: Case) -> tuple[Object, Answer]:
    """Return the case's object as it was created and the answer to the case's request."""
    manifest = _manifest(ground, case)
    if case.verb != "CREATE":
        _place(ground, case, manifest)
    return manifest, _send(ground, case, manifest)


def complaints(case: Case, manifest: Object, answer: Answer) -> list[str]:
    """Return what is wrong with an answer; nothing when it is what the case says."""
    name = manifest["metadata"]["name"]
    found = [] if answer.allowed == case.allowed else [f"allowed is {answer.allowed}"]
    if not answer.allowed:
        has, lacks = (
            [part.format(name=name) for part in parts] for parts in (case.message_has, case.message_lacks)
        )
        found += [f"the message lacks {part!r}" for part in has if part not in answer.message]
        found += [f"the message has {part!r}" for part in lacks if part in answer.message]
        found += ["the reason is not Invalid"] if answer.body.get("reason") != "Invalid" else []
    found += _about_warnings(
        case, [text for text in answer.warnings if "ValidatingAdmissionPolicy" in text], name
    )
    return [f"{complaint}: {answer.code} {answer.message}" for complaint in found]


def _about_warnings(case: Case, warnings: list[str], name: str) -> list[str]:
    if bool(warnings) != case.warns:
        return [f"the warnings are {warnings}"]
    missing = [part for part in case.warning_has if part.format(name=name) not in "".join(warnings)]
    return [f"the warnings lack {part!r}: {warnings}" for part in missing]


def aftermath(ground: Ground, case: Case, manifest: Object) -> str:
    """Return `gone`, `deleting` or `there`: what the request left of the case's object."""
    answer = ground.wire.send("GET", f"{ground.collection(case)}/{manifest['metadata']['name']}")
    if answer.code == 404:
        return "gone"
    return "deleting" if "deletionTimestamp" in answer.body["metadata"] else "there"


def _manifest(ground: Ground, case: Case) -> Object:
    manifest = case.manifest(ground.suffix)
    manifest["apiVersion"] = ground.kind(case.kind).api_version()
    metadata = manifest["metadata"]
    if ground.labels:
        metadata["labels"] = {**metadata.get("labels", {}), **ground.labels}
    if "ownerReferences" in metadata:
        metadata["ownerReferences"] = [_owner(ground, reference) for reference in metadata["ownerReferences"]]
    if case.deleting:
        metadata["finalizers"] = [HOLD]
    return manifest


def _place(ground: Ground, case: Case, manifest: Object) -> None:
    wire, collection = ground.wire, ground.collection(case)
    path = f"{collection}/{manifest['metadata']['name']}"
    there = wire.send("GET", path) if "name" in case.object else None
    if there and there.allowed:
        _reset(wire, path, there.body, manifest)
    else:
        wire.must("POST", collection, manifest)
    if case.deleting:
        # Without its label no mutant judges it, so that the case begins in the state that it needs.
        wire.must("PATCH", path, {"metadata": {"labels": dict.fromkeys(ground.labels)}})
        wire.must("DELETE", path, {"propagationPolicy": "Foreground"})
        wire.must("PATCH", path, {"metadata": {"labels": ground.labels}})


def _reset(wire: Wire, path: str, there: Object, manifest: Object) -> None:
    # An object with a name of its own serves several cases: it gets this one's metadata and spec.
    if "deletionTimestamp" in there["metadata"]:
        # The collector may be quicker: then there is nothing to patch.
        wire.send("PATCH", path, {"metadata": {"finalizers": None}})
        wire.must("POST", path.rpartition("/")[0], manifest)
        return
    kept = {
        key: there["metadata"][key]
        for key in ("name", "namespace", "resourceVersion")
        if key in there["metadata"]
    }
    wire.must("PUT", path, {**there, **manifest, "metadata": {**kept, **manifest["metadata"]}})


def _send(ground: Ground, case: Case, manifest: Object) -> Answer:
    wire, collection, name = ground.wire, ground.collection(case, case.version), manifest["metadata"]["name"]
    path = f"{collection}/{name}"
    if case.verb == "CREATE":
        return wire.send("POST", collection, manifest, user=case.user)
    if case.verb != "DELETE":
        return wire.send("PATCH", path + _SUBRESOURCES.get(case.verb, ""), case.patch, user=case.user)
    options = case.options and {"apiVersion": "v1", "kind": "DeleteOptions", **case.options}
    if case.collection:
        query = {**case.query, "fieldSelector": f"metadata.name={name}"}
        return wire.send("DELETE", collection, options, query, case.user)
    return wire.send("DELETE", path, options, case.query, case.user)


def _owner(ground: Ground, reference: Object) -> Object:
    """Return the reference with the uid of a real object: the collector takes what has no living owner."""
    if reference["kind"] in KINDS:
        kind = ground.kind(KINDS[reference["kind"]])
        path, version = f"{kind.root()}/{kind.plural}", kind.api_version()
    else:
        path, version = "/api/v1/namespaces/fleet-a/configmaps", reference["apiVersion"]
    owner = ground.wire.must("GET", f"{path}/{reference['name']}").body
    return {**reference, "apiVersion": version, "uid": owner["metadata"]["uid"]}


def _create(wire: Wire, kind: Kind, manifest: Object) -> None:
    answer = wire.send("POST", f"{kind.root()}/{kind.plural}", manifest)
    assert answer.allowed or answer.code == 409, f"{manifest['metadata']['name']}: {answer.message}"


def _everybody() -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": "the-cases-are-about-admission"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:authenticated"}],
    }


def until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until a condition holds; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not true within {seconds} s: {condition}"
        time.sleep(0.02)

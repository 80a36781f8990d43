"""A small model of what Crossplane does with the function's answers, for decisions over many passes.

It shows whether the decisions are sound whatever is lost or late in between; that the servers behave like
this is shown end to end. What leaves desired is forgotten at once though it may finalize for long; a Usage
that leaves desired lets go at once and replays the recorded delete; required resources are fetched by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crossplane.function.resource import child_name

from support.calls import OBJECT, RELEASE, Manifest, Response, call, observed_metadata

if TYPE_CHECKING:
    from crossplane.function.proto.v1 import run_function_pb2 as fnv1

ATTEMPT = "usage.crossplane.io/deletion-attempt-with-policy"
Ref = tuple[str, str, str]
"""Kind, namespace, name."""


def ref_of(body: Manifest) -> Ref:
    """Name an object."""
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


@dataclass
class Thing:
    """An object of the API; `key` is empty once the composite has forgotten it."""

    body: Manifest
    key: str = ""
    deleting: bool = False


@dataclass
class Simulation:
    """One InferenceCluster and what it composes."""

    composite: Manifest
    required: dict[str, list[Manifest]] = field(default_factory=dict)
    things: dict[Ref, Thing] = field(default_factory=dict)
    deleted: bool = False
    order: list[Ref] = field(default_factory=list)
    response: Response | None = None
    secrets: list[Manifest] = field(default_factory=list)
    replays: bool = True
    now: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def step(self, *, status_lost: bool = False) -> Response:
        """Run one reconcile; with `status_lost` it ends before the status is written."""
        response = self._call()
        assert response.fatal == []
        for thing in [t for t in self.things.values() if t.key and t.key not in response.desired]:
            self._drop(thing)
        for key, manifest in response.desired.items():
            self._apply(key, manifest)
        if not status_lost:
            self.composite["status"] = response.status
        self.response = response
        return response

    def _call(self) -> Response:
        observed = {thing.key: thing.body for thing in self.things.values() if thing.key}
        answers = dict(self.required)
        for _ in range(5):
            response = call(self.composite, observed, answers, now=self.now)
            if set(response.lookups) <= set(answers):
                return response
            for name, selector in response.lookups.items():
                answers.setdefault(name, self._find(selector))
        raise AssertionError("the requirements never settle")

    def _find(self, selector: fnv1.ResourceSelector) -> list[Manifest]:
        bodies = [t.body for t in self.things.values() if t.body["kind"] == selector.kind]
        if selector.match_name:
            return [b for b in bodies if b["metadata"]["name"] == selector.match_name]
        labels = dict(selector.match_labels.labels)
        return [b for b in bodies if labels.items() <= b["metadata"].get("labels", {}).items()]

    def _drop(self, thing: Thing) -> None:
        ref, key, thing.key = ref_of(thing.body), thing.key, ""
        if thing.body["kind"] in ("Usage", "ClusterUsage"):
            del self.things[ref]
            self.deleted |= self.replays and self._replays(thing)
            return
        holding = [t.key for t in self.things.values() if self._protects(t, thing.body)]
        assert not holding, f"{key} left desired while {holding} protect it: refused for ever"
        thing.deleting = True
        self.order.append(ref)
        if thing.body["kind"] == "ServingStack":
            for leaf in self.leaves():
                leaf.deleting = True

    def _replays(self, thing: Thing) -> bool:
        spec = thing.body["spec"]
        return spec["of"]["kind"] == "InferenceCluster" and spec["replayDeletion"] and bool(self.attempt)

    @staticmethod
    def _protects(usage: Thing, body: Manifest) -> bool:
        if usage.body["kind"] != "Usage":
            return False
        of = usage.body["spec"]["of"]
        return (of["kind"], of["resourceRef"]["name"]) == (body["kind"], body["metadata"]["name"])

    def _apply(self, key: str, manifest: Manifest) -> None:
        old = next((t for t in self.things.values() if t.key == key), None)
        name = old.body["metadata"]["name"] if old else key
        body = {**manifest, "metadata": observed_metadata(manifest, name=name, uid=f"{key}-uid")}
        body["status"] = {"conditions": [{"type": "Ready", "status": "True"}], **self._status(manifest)}
        if manifest["kind"] in ("Usage", "ClusterUsage"):
            self._resolve(body)
        new = key not in {t.key for t in self.things.values()}
        self.things[ref_of(body)] = Thing(body, key)
        if new and manifest["kind"] == "ServingStack":
            self._compose_leaves(body)

    def _status(self, manifest: Manifest) -> Manifest:
        return {"secrets": self.secrets} if manifest["kind"].endswith("KSCluster") else {}

    def _resolve(self, usage: Manifest) -> None:
        for end in ("of", "by"):
            wanted = usage["spec"].get(end)
            if wanted and "resourceRef" not in wanted:
                names = [n for kind, _, n in self.things if kind == wanted["kind"]]
                wanted["resourceRef"] = {"name": (names or ["not-found"])[0]}

    def _compose_leaves(self, stack: Manifest) -> None:
        name = stack["metadata"]["name"]
        labels = {"crossplane.io/composite": self.composite["metadata"]["name"]}
        for kind in (OBJECT, RELEASE):
            metadata = {"name": f"{name}-leaf", "namespace": "modelplane-system", "labels": labels}
            config = {"providerConfigRef": {"kind": "ProviderConfig", "name": child_name(name, "cluster")}}
            body = {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, "spec": config}
            self.things[ref_of(body)] = Thing(body)

    # What people and providers do

    @property
    def attempt(self) -> str:
        """The policy of the recorded attempt."""
        return str(self.composite["metadata"].get("annotations", {}).get(ATTEMPT, ""))

    def delete(self, policy: str = "Foreground") -> None:
        """Try to delete the InferenceCluster: refused and recorded while a ClusterUsage protects it."""
        if any(t.body["kind"] == "ClusterUsage" for t in self.things.values()):
            self.composite["metadata"].setdefault("annotations", {})[ATTEMPT] = policy
        else:
            self.deleted = True

    def leaves(self) -> list[Thing]:
        """Return what the ServingStack composes."""
        return [t for ref, t in self.things.items() if ref[2].endswith("-leaf")]

    def finalizing(self) -> list[Ref]:
        """Return what is being deleted; a ServingStack outlasts its leaves, as under foreground."""
        found = [ref for ref, thing in self.things.items() if thing.deleting]
        held = any(ref[2].endswith("-leaf") for ref in found)
        return [ref for ref in found if not (held and ref[0] == "ServingStack")]

    def finish(self, ref: Ref) -> None:
        """Let an object go."""
        del self.things[ref]

    def teardown(self) -> Any:  # noqa: ANN401 -- JSON
        """Return status.teardown."""
        return self.composite.get("status", {}).get("teardown", {})

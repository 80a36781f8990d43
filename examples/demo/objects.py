"""One object in, what it says out: which it is, what it holds, what it waits for, what happened. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controlplane.kube import Object
    from controlplane.timeline import Event

# Crossplane's name of a composed resource within its composite; object names are this and two hashes.
KEY = "crossplane.io/composition-resource-name"
# Written by Crossplane's webhook when it refuses a delete because of a Usage.
REFUSED = "usage.crossplane.io/deletion-attempt-with-policy"
# The finalizer of the LLMService controller.
TEARDOWN = "serving.modelsphere.dev/teardown"
USAGES = ("Usage", "ClusterUsage")
CONFIGS = ("ProviderConfig", "ClusterProviderConfig")

_CONFIG_KEY = "provider-config-"
# An entry of status.teardown.waitingFor begins with kind, namespace and name.
_NAMED = re.compile(r"(\w+) (?:[^\s/]+/)?([^\s,:]+)")


class What(Enum):
    """What can happen to an object; the value is how it is told."""

    CREATED = "created"
    READY = "ready"
    REFUSED = "refused"
    DELETING = "deleting"
    WAITS = "waits for"
    STAGE = "stage"
    FREE = "free to go"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Thing:
    """One object, told apart from one of the same kind and name in another API group."""

    kind: str
    group: str
    name: str


@dataclass(frozen=True, slots=True)
class Hold:
    """What one Usage says: `protected` may go only when `until_gone` is gone."""

    protected: Thing
    until_gone: Thing


@dataclass(frozen=True, slots=True)
class Stage:
    """How far an object's own staged teardown is; `waits` has kind and name of what it waits for."""

    name: str
    message: str = ""
    outcome: str = ""
    waits: tuple[tuple[str, str], ...] = ()


def thing(obj: Object) -> Thing:
    """Return which object this is."""
    return Thing(obj["kind"], _group(obj["apiVersion"]), obj["metadata"]["name"])


def hold(usage: Object) -> Hold | None:
    """Read a Usage; None where it names no user, or its selectors are not resolved yet."""
    ends = [_end(usage["spec"].get(end, {})) for end in ("of", "by")]
    return Hold(ends[0], ends[1]) if ends[0] and ends[1] else None


def guarded(usage: Object) -> tuple[Thing, str] | None:
    """Read a Usage without a user: what it protects, and the reason that it gives."""
    protected = None if "by" in usage["spec"] else _end(usage["spec"].get("of", {}))
    return (protected, usage["spec"].get("reason", "")) if protected else None


def label(obj: Object) -> str:
    """Return the short name of an object: what a ProviderConfig is for, else its key, else its name."""
    meta = obj["metadata"]
    key = str(meta.get("annotations", {}).get(KEY, ""))
    if obj["kind"] in CONFIGS:
        return key.removeprefix(_CONFIG_KEY) if key.startswith(_CONFIG_KEY) else _provider(obj)
    return key or str(meta["name"])


def carried(obj: Object) -> Thing | None:
    """Return what a provider-kubernetes Object manages, None for any other object."""
    manifest = obj.get("spec", {}).get("forProvider", {}).get("manifest")
    return thing(manifest) if manifest else None


def stays_for(obj: Object) -> Thing | None:
    """Return what a Usage or an Object stays for, None where it stays for nothing that it names."""
    if obj["kind"] in USAGES:
        said = hold(obj)
        return said.until_gone if said else None
    return carried(obj)


def stage(obj: Object) -> Stage | None:
    """Read how far an LLMService's teardown is, or a staged InferenceCluster's; None before it begins."""
    status = obj.get("status", {})
    said = status.get("deletion") or status.get("teardown")
    if not said:
        return None
    found = (_NAMED.match(entry) for entry in said.get("waitingFor", ()))
    waits = tuple((match[1], match[2]) for match in found if match)
    return Stage(said["stage"], said.get("message", ""), said.get("outcome", ""), waits)


def happened(event: Event) -> list[tuple[What, str]]:
    """Return what an event shows; the second is the stage that it belongs to, empty for most."""
    if event.type == "DELETED":
        return [(What.GONE, "")]
    stages = _stages(event.object)
    if event.deleting:
        return [(What.DELETING, ""), *stages]
    if REFUSED in event.object["metadata"].get("annotations", {}):
        return [(What.WAITS, ""), *stages]
    conditions = event.object.get("status", {}).get("conditions", ())
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return [(What.CREATED, ""), (What.READY, "")] if ready else [(What.CREATED, "")]


def _stages(obj: Object) -> list[tuple[What, str]]:
    at = stage(obj)
    if at is None:
        return []
    return [(What.STAGE, at.name), *([(What.WAITS, at.name)] if at.waits else [])]


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _provider(config: Object) -> str:
    return _group(config["apiVersion"]).split(".")[0]


def _end(end: Object) -> Thing | None:
    name = end.get("resourceRef", {}).get("name")
    return Thing(end["kind"], _group(end["apiVersion"]), name) if name else None

"""Calls the function in process with plain dicts, and reads its response back as plain dicts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import structs
from function.fn import FunctionRunner

if TYPE_CHECKING:
    from datetime import datetime

Manifest = dict[str, Any]

EKS_CLUSTER = ("infrastructure.modelplane.ai/v1alpha1", "EKSCluster")
STACK = ("infrastructure.modelplane.ai/v1alpha1", "ServingStack")
OBJECT = ("kubernetes.m.crossplane.io/v1alpha1", "Object")
RELEASE = ("helm.m.crossplane.io/v1beta1", "Release")
USAGE = ("protection.crossplane.io/v1beta1", "Usage")
CLUSTER_USAGE = ("protection.crossplane.io/v1beta1", "ClusterUsage")

COMPOSED = {"inference.modelplane.ai/composed": "true"}


@dataclass
class Response:
    """A response, read back; `desired` is by key."""

    message: fnv1.RunFunctionResponse
    desired: dict[str, Manifest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Convert the desired resources once."""
        for key, found in self.message.desired.resources.items():
            self.desired[key] = structs.plain_block(found.resource)

    @property
    def ready(self) -> set[str]:
        """The keys that are marked ready."""
        found = self.message.desired.resources.items()
        return {key for key, r in found if r.ready == fnv1.READY_TRUE}

    @property
    def incomplete(self) -> bool:
        """Whether the composite itself is marked unready."""
        return self.message.desired.composite.ready == fnv1.READY_FALSE

    @property
    def fatal(self) -> list[str]:
        """The messages of fatal results."""
        return [r.message for r in self.message.results if r.severity == fnv1.SEVERITY_FATAL]

    @property
    def warnings(self) -> list[str]:
        """The messages of warning results."""
        return [r.message for r in self.message.results if r.severity == fnv1.SEVERITY_WARNING]

    @property
    def conditions(self) -> dict[str, tuple[bool, str, str]]:
        """Status, reason and message by type; a type that occurs twice fails."""
        types = [c.type for c in self.message.conditions]
        assert len(types) == len(set(types)), f"a condition is written twice: {types}"
        true = fnv1.STATUS_CONDITION_TRUE
        return {c.type: (c.status == true, c.reason, c.message) for c in self.message.conditions}

    @property
    def status(self) -> Manifest:
        """The composite's status."""
        status: Manifest = structs.plain_block(self.message.desired.composite.resource).get("status", {})
        return status

    @property
    def lookups(self) -> dict[str, fnv1.ResourceSelector]:
        """The required resources by name."""
        return dict(self.message.requirements.resources)

    def usages(self) -> dict[str, tuple[str, str, bool]]:
        """Names of what each Usage protects and by what, and whether it replays; without the guard."""
        found = {k: m["spec"] for k, m in self.desired.items() if m["kind"] in ("Usage", "ClusterUsage")}
        return {
            k: (_end(s["of"]), _end(s["by"]), s.get("replayDeletion", False))
            for k, s in found.items()
            if "by" in s
        }


def _end(end: Manifest) -> str:
    name = end.get("resourceRef", {}).get("name", "*")
    return f"{end['kind']}/{name}"


def call(  # noqa: PLR0913 -- one for each part of a request
    composite: Manifest,
    observed: dict[str, Manifest] | None = None,
    required: dict[str, list[Manifest]] | None = None,
    settings: Manifest | None = None,
    now: datetime | None = None,
    *,
    desired: dict[str, Manifest] | None = None,
) -> Response:
    """Run the function once, at the moment `now` or really now."""
    req = request(composite, observed, required, settings, desired)
    runner = FunctionRunner() if now is None else FunctionRunner(lambda: now)
    return Response(asyncio.run(runner.RunFunction(req, None)))


def request(
    composite: Manifest,
    observed: dict[str, Manifest] | None = None,
    required: dict[str, list[Manifest]] | None = None,
    settings: Manifest | None = None,
    desired: dict[str, Manifest] | None = None,
) -> fnv1.RunFunctionRequest:
    """Build a request; a key of `required` with an empty list was asked for and not found.

    `desired` is what earlier steps of the pipeline desire.
    """
    req = fnv1.RunFunctionRequest()
    structs.write(req.observed.composite.resource, composite)
    for key, manifest in (observed or {}).items():
        structs.write(req.observed.resources[key].resource, manifest)
    for name, found in (required or {}).items():
        req.required_resources[name].SetInParent()
        for manifest in found:
            structs.write(req.required_resources[name].items.add().resource, manifest)
    for key, manifest in (desired or {}).items():
        structs.write(req.desired.resources[key].resource, manifest)
    if settings is not None:
        structs.write(req.input, settings)
    return req


def cluster(source: str = "Local", name: str = "demo", **spec: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return an InferenceCluster; `spec` is merged beside spec.cluster, `block` into spec.cluster."""
    block = spec.pop("block", {})
    return {
        "apiVersion": "modelplane.ai/v1alpha1",
        "kind": "InferenceCluster",
        "metadata": {"name": name, "uid": f"{name}-uid"},
        "spec": {"cluster": {"source": source, **block}, **spec},
    }


def stack(spec: Manifest | None = None, **metadata: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return a ServingStack with the defaults of its XRD."""
    defaults = {
        "identity": "InjectedIdentity",
        "gateway": {"className": "envoy"},
        "nvidiaDriverRoot": "/",
        "versions": {
            "certManager": "v1.17.1",
            "envoyGateway": "v1.8.1",
            "prometheus": "72.6.2",
            "leaderWorkerSet": "v0.8.0",
            "nodeFeatureDiscovery": "0.18.3",
            "nvidiaDraDriver": "0.4.0",
        },
    }
    return {
        "apiVersion": STACK[0],
        "kind": STACK[1],
        "metadata": {"name": "demo-stack", "namespace": "modelplane-system", "uid": "stack-uid", **metadata},
        "spec": {**defaults, **(spec or {})},
    }


def thing(kind: tuple[str, str], name: str, *, ready: bool = False, **more: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return an observed object; `more` is merged on top, `metadata` into its metadata."""
    metadata = more.pop("metadata", {})
    manifest = {
        "apiVersion": kind[0],
        "kind": kind[1],
        "metadata": {"name": name, "namespace": "modelplane-system", "uid": f"{name}-uid", **metadata},
        **more,
    }
    if ready:
        manifest.setdefault("status", {}).setdefault("conditions", []).append(
            {"type": "Ready", "status": "True"}
        )
    return manifest


def usage(
    of: tuple[tuple[str, str], str], by: tuple[tuple[str, str], str], *, replay: bool = True
) -> Manifest:
    """Return an observed Usage that this function composed, both ends resolved."""
    ends = {
        end: {"apiVersion": kind[0], "kind": kind[1], "resourceRef": {"name": name}}
        for end, (kind, name) in (("of", of), ("by", by))
    }
    spec = {**ends, "replayDeletion": replay}
    return thing(USAGE, f"usage-of-{of[1]}-by-{by[1]}", metadata={"labels": COMPOSED}, spec=spec)


def observed_metadata(manifest: Manifest, **given: str) -> Manifest:
    """Return metadata as observed: what is given and not said, and what Crossplane adds once Usages hold."""
    metadata = {**given, **manifest["metadata"]}
    if manifest["kind"] in ("Usage", "ClusterUsage"):
        return {"finalizers": ["usage.apiextensions.crossplane.io"], **metadata}
    return {**metadata, "labels": {**metadata.get("labels", {}), "crossplane.io/in-use": "true"}}


def observe(response: Response, *, ready: bool = True) -> dict[str, Manifest]:
    """Return the desired state as it would be observed: names given, Usages in force, ready if so said."""
    return {
        key: {
            **manifest,
            "metadata": observed_metadata(
                manifest, name=key, namespace="modelplane-system", uid=f"{key}-uid"
            ),
            "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
        }
        for key, manifest in response.desired.items()
    }

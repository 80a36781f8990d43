"""Forged watch events of the demo's objects, one second and one version apart."""

from __future__ import annotations

from typing import Any

from controlplane.timeline import Event, Ref
from examples.demo.objects import KEY

HELM, KUBERNETES = "helm.m.crossplane.io/v1beta1", "kubernetes.m.crossplane.io/v1alpha1"
USAGE = "protection.crossplane.io/v1beta1"
GROUPS = {
    "InferenceCluster": "modelplane.ai/v1alpha1",
    "LLMService": "serving.modelsphere.dev/v1alpha1",
    "ServingStack": "infrastructure.modelplane.ai/v1alpha1",
    "Release": HELM,
    "Object": KUBERNETES,
    "helm": HELM,
    "kubernetes": KUBERNETES,
    "services": KUBERNETES,
}
_NAMED_BY_THE_USER = ("InferenceCluster", "LLMService")
# Every object of the demo but the Usages, in an order in which they may go.
IN_ORDER = (
    "LLMService embed",
    "Object service-models.embed",
    "LLMService chat",
    "Object service-models.chat",
    "ProviderConfig services",
    "Object gateway",
    "Object gateway-class",
    "Release cert-manager",
    "Release envoy-gateway",
    "ProviderConfig kubernetes",
    "ProviderConfig helm",
    "ServingStack serving-stack",
    "ClusterProviderConfig kubernetes",
    "InferenceCluster demo",
)


def manifest(named: str) -> dict[str, Any]:
    """Return an object as the server has it, from `KIND SHORT-NAME`."""
    kind, short = named.split(" ", 1)
    if kind == "ProviderConfig":
        key, name = f"provider-config-{short}", "demo-stack-cluster-0a0a0"
    else:
        key, name = short, short if kind in _NAMED_BY_THE_USER else f"demo-stack-{short}-0a0a0"
    metadata = {"name": name, "annotations": {KEY: key}}
    return {"apiVersion": GROUPS.get(kind) or GROUPS[short], "kind": kind, "metadata": metadata}


def carrier(service: str) -> dict[str, Any]:
    """Return the Object that carries an LLMService."""
    spec = {"forProvider": {"manifest": manifest(f"LLMService {service}")}}
    return {**manifest(f"Object service-models.{service}"), "spec": spec}


def usage(of: str, by: str) -> dict[str, Any]:
    """Return a Usage of one object by another."""
    metadata = {"name": f"demo-{abs(hash((of, by)))}"}
    return {
        "apiVersion": USAGE,
        "kind": "Usage",
        "metadata": metadata,
        "spec": {"of": _end(of), "by": _end(by)},
    }


def gate(of: str, reason: str) -> dict[str, Any]:
    """Return a ClusterUsage that protects an object for a reason, without a user."""
    spec = {"of": _end(of), "reason": reason}
    return {"apiVersion": USAGE, "kind": "ClusterUsage", "metadata": {"name": "demo-gate"}, "spec": spec}


def _end(named: str) -> dict[str, Any]:
    obj = manifest(named)
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "resourceRef": {"name": obj["metadata"]["name"]},
    }


class Recording:
    """Forges events one second and one version apart."""

    def __init__(self) -> None:
        """Begin with none."""
        self.events: list[Event] = []

    def add(self, kind: str, obj: dict[str, Any], **metadata: Any) -> None:  # noqa: ANN401 -- any JSON
        """Add one event of an object with some metadata changed."""
        obj = {**obj, "metadata": {**obj["metadata"], **metadata}}
        ref = Ref(obj["kind"], "", obj["metadata"]["name"])
        at = len(self.events) + 1
        deleting = "deletionTimestamp" in obj["metadata"]
        self.events.append(Event(float(at), kind, ref, ref.name, at, deleting, (), obj))

    def gone(self, *names: str) -> Recording:
        """Add the deletion of objects, in this order; `stage X` is the InferenceCluster's reaching it."""
        for named in names:
            if named.startswith("stage "):
                teardown = {"stage": named.removeprefix("stage ")}
                cluster = manifest("InferenceCluster demo")
                self.add("MODIFIED", {**cluster, "status": {"teardown": teardown}})
            else:
                self.add("DELETED", manifest(named))
        return self

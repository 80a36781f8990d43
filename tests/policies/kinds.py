"""The kinds that the cases of the admission bundle need, and open CRDs for them.

A plane without Crossplane has none of these kinds, and the policies read nothing of their specs but two
fields: a CRD that accepts anything is enough to send real requests about them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

# The bound of every wait, in seconds: other tests may have the machine meanwhile.
PATIENCE = 240.0
BUILT_IN = frozenset({"", "apiextensions.k8s.io"})


@dataclass(frozen=True)
class Kind:
    """Where a kind is served: `versions[0]` is the one that requests use unless they say otherwise."""

    group: str
    kind: str
    plural: str
    namespaced: bool
    versions: tuple[str, ...] = ("v1alpha1", "v1beta1")

    def root(self, version: str = "") -> str:
        """Return the path of the group and version, the first one unless another is asked for."""
        version = version or self.versions[0]
        return f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"

    def api_version(self) -> str:
        """Return the apiVersion that manifests of this kind carry."""
        return f"{self.group}/{self.versions[0]}" if self.group else self.versions[0]

    def moved(self, suffix: str) -> Kind:
        """Return the same kind in another group, where the shipped policies do not see it."""
        # In a URL `namespaces/NAME` is a scope: a stand-in of that name can only be read inside of one.
        namespaced = self.namespaced or self.plural == "namespaces"
        return Kind(f"{self.group or 'core'}.{suffix}", self.kind, self.plural, namespaced, self.versions)


_MODELPLANE, _INFRASTRUCTURE = "modelplane.ai", "infrastructure.modelplane.ai"

KINDS = {
    kind.kind: kind
    for kind in (
        Kind(_MODELPLANE, "InferenceCluster", "inferenceclusters", namespaced=False),
        Kind(_MODELPLANE, "ModelDeployment", "modeldeployments", namespaced=True),
        Kind(_MODELPLANE, "ModelReplica", "modelreplicas", namespaced=True),
        Kind(_MODELPLANE, "InferenceGateway", "inferencegateways", namespaced=False),
        Kind(_MODELPLANE, "ModelCache", "modelcaches", namespaced=True),
        Kind(_INFRASTRUCTURE, "ServingStack", "servingstacks", namespaced=True),
        Kind(_INFRASTRUCTURE, "GKECluster", "gkeclusters", namespaced=True),
        Kind(_INFRASTRUCTURE, "EKSCluster", "eksclusters", namespaced=True),
        Kind(_INFRASTRUCTURE, "AKSCluster", "aksclusters", namespaced=True),
        Kind(_INFRASTRUCTURE, "NebiusCluster", "nebiusclusters", namespaced=True),
        Kind(_INFRASTRUCTURE, "VultrCluster", "vultrclusters", namespaced=True),
        # Two that the bundle leaves alone.
        Kind(_MODELPLANE, "InferenceClass", "inferenceclasses", namespaced=False),
        Kind("serving.modelsphere.dev", "LLMService", "llmservices", namespaced=True),
        Kind(
            "apiextensions.crossplane.io",
            "CompositeResourceDefinition",
            "compositeresourcedefinitions",
            namespaced=False,
            versions=("v2", "v1"),
        ),
        Kind(
            "apiextensions.crossplane.io", "Composition", "compositions", namespaced=False, versions=("v1",)
        ),
        Kind("pkg.crossplane.io", "Configuration", "configurations", namespaced=False, versions=("v1",)),
        Kind("pkg.crossplane.io", "Function", "functions", namespaced=False, versions=("v1",)),
        Kind(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            namespaced=False,
            versions=("v1",),
        ),
        Kind("", "Namespace", "namespaces", namespaced=False, versions=("v1",)),
    )
}

# The kinds that forceforeground covers.
COVERED = tuple(KINDS.values())[:11]
# The kinds that protect-platform looks at.
PLATFORM = tuple(KINDS.values())[13:]


def crd(kind: Kind) -> Object:
    """Return a CRD for a kind that accepts any object and serves the subresources status and scale."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    replicas = {"type": "integer"}
    properties = {part: {**schema, "properties": {"replicas": replicas}} for part in ("spec", "status")}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    versions = [
        {
            "name": version,
            "served": True,
            "storage": version == kind.versions[0],
            "schema": {"openAPIV3Schema": {**schema, "properties": properties}},
            "subresources": {"status": {}, "scale": scale},
        }
        for version in kind.versions
    ]
    singular = kind.kind.lower()
    names = {"kind": kind.kind, "listKind": f"{kind.kind}List", "plural": kind.plural, "singular": singular}
    scope = "Namespaced" if kind.namespaced else "Cluster"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {"group": kind.group, "scope": scope, "names": names, "versions": versions},
    }

"""What an installation has left on a plane."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from controlplane.errors import ControlPlaneError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from controlplane.plane import Plane

# Part of the name or the API group of everything that this project installs or defines.
_MARKS = (
    "inference-cluster",
    "inferencecluster",
    "servingstack",
    "modelplane",
    "forceforeground",
    "protect-platform",
)
_CLUSTER_WIDE = (
    "customresourcedefinitions.apiextensions.k8s.io",
    "compositeresourcedefinitions.apiextensions.crossplane.io",
    "compositions.apiextensions.crossplane.io",
    "compositionrevisions.apiextensions.crossplane.io",
    "managedresourceactivationpolicies.apiextensions.crossplane.io",
    "functions.pkg.crossplane.io",
    "functionrevisions.pkg.crossplane.io",
    "configurations.pkg.crossplane.io",
    "configurationrevisions.pkg.crossplane.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
    "namespaces",
)
# Of these nothing at all may be left, whatever its name: only clusters make them on this plane.
_NEVER = (
    "usages.protection.crossplane.io",
    "clusterusages.protection.crossplane.io",
    "objects.kubernetes.m.crossplane.io",
    "providerconfigs.kubernetes.m.crossplane.io",
    "providerconfigs.helm.m.crossplane.io",
    "releases.helm.m.crossplane.io",
    "providerconfigusages.kubernetes.m.crossplane.io",
    "providerconfigusages.helm.m.crossplane.io",
)


def of_product(plane: Plane) -> list[str]:
    """Return what is left of the product: definitions, rights, packages, parts of clusters."""
    return sorted([*named(plane, *_MARKS), *map(_name, _items(plane, _NEVER))])


def named(plane: Plane, *marks: str) -> list[str]:
    """Return the cluster-wide objects with one of these texts in their names."""
    found = _items(plane, _CLUSTER_WIDE)
    return [_name(item) for item in found if any(mark in item["metadata"]["name"] for mark in marks)]


def terminating(plane: Plane) -> list[str]:
    """Return everything on the plane, of whatever kind, that is being deleted and does not go."""
    kinds = plane.kubectl("api-resources", "--verbs=list,delete", "--output=name").split()
    try:
        return [_name(item) for item in _items(plane, kinds) if "deletionTimestamp" in item["metadata"]]
    except ControlPlaneError as error:
        if "doesn't have a resource type" not in str(error):
            raise
        return ["a kind, whose definition went meanwhile"]


def _items(plane: Plane, kinds: Iterable[str]) -> list[dict[str, Any]]:
    text = plane.kubectl("get", ",".join(kinds), "--all-namespaces", "--output=json")
    found: list[dict[str, Any]] = json.loads(text)["items"]
    return found


def _name(item: dict[str, Any]) -> str:
    return f"{item['kind']} {item['metadata']['name']}"

"""The controller's permissions: least verbs, each row with the call that needs it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_operator.api import CONTROLLER, GROUP, PLURAL, VERSION
from llm_operator.resources import CONFIGMAPS, EVENTS, LEASES, NODES, PODS, SECRETS, Resource
from llm_operator.routes import GROUPS
from llm_operator.routes import PLURAL as ROUTES

Manifest = dict[str, Any]
Row = tuple[str, str, tuple[str, ...]]
"""Group, resource, verbs."""

NAMESPACE = "llm-operator-system"


@dataclass(frozen=True, slots=True)
class Names:
    """What an installation calls its objects: `own` in its namespace, `cluster` where all share one space."""

    own: str = CONTROLLER
    cluster: str = CONTROLLER
    namespace: str = NAMESPACE


DEFAULT = Names()


def _row(resource: Resource, *verbs: str, sub: str = "") -> Row:
    return resource.group, f"{resource.plural}/{sub}" if sub else resource.plural, verbs


SERVICES = Resource(GROUP, VERSION, PLURAL)

CONTROLLER_ROWS: tuple[Row, ...] = (
    # The watch, the look after a lost race, the finalizer, and the status.
    _row(SERVICES, "get", "list", "watch", "patch"),
    _row(SERVICES, "patch", sub="status"),
    # The pod rule. Forced deletion is a Role of its own.
    _row(PODS, "list", "watch"),
    # Release records, and valuesFrom. RBAC cannot tell types of Secrets apart.
    _row(SECRETS, "get", "list", "watch"),
    _row(CONFIGMAPS, "get"),
    # Routes of a release.
    *((group, ROUTES, ("get", "delete")) for group in GROUPS),
    _row(EVENTS, "create"),
)
NODE_ROWS: tuple[Row, ...] = (_row(NODES, "list", "watch"),)
"""The pod rule again: the one permission that no namespace can give."""
FORCE_ROWS: tuple[Row, ...] = (_row(PODS, "delete"),)
"""Only for whoever uses force-delete-after."""
IMPERSONATE_ROWS: tuple[Row, ...] = (("", "serviceaccounts", ("impersonate",)),)
"""Only for whoever uses spec.serviceAccountName.

Helm then has that account's permissions, not the controller's.
"""
_ALL = ("get", "list", "watch", "create", "update", "patch", "delete")
HELM_ROWS: tuple[Row, ...] = (
    # What helm itself stores, and what the example charts consist of.
    _row(SECRETS, *_ALL),
    _row(CONFIGMAPS, *_ALL),
    ("", "services", _ALL),
    ("", "serviceaccounts", _ALL),
    ("apps", "deployments", _ALL),
    ("apps", "statefulsets", _ALL),
    ("batch", "jobs", _ALL),
    *((group, ROUTES, _ALL) for group in GROUPS),
)
"""Helm without spec.serviceAccountName runs with these.

Take the binding away where every service names an account.
"""
LEASE_ROWS: tuple[Row, ...] = (_row(LEASES, "get", "create", "update"),)

BOUND: Mapping[str, tuple[Row, ...]] = {
    "": CONTROLLER_ROWS,
    "-force-delete": FORCE_ROWS,
    "-impersonate": IMPERSONATE_ROWS,
    "-helm": HELM_ROWS,
}
"""Suffix of a ClusterRole -> its rows: those that can be bound in single namespaces instead of everywhere."""


def manifests(names: Names = DEFAULT) -> list[Manifest]:
    """Build the account, its Roles and their bindings, for a controller that looks after all namespaces."""
    return [*always(names), *bindings(names, None)]


def always(names: Names) -> list[Manifest]:
    """Build what every installation has: the account, all Roles, and what is bound alike in each."""
    account_meta = {"name": names.own, "namespace": names.namespace}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account_meta}
    roles = [
        _role({"name": names.cluster + suffix}, "ClusterRole", rows)
        for suffix, rows in {**BOUND, "-nodes": NODE_ROWS}.items()
    ]
    election = {"name": f"{names.own}-leader-election", "namespace": names.namespace}
    return [
        account,
        *roles,
        _binding(names, {"name": f"{names.cluster}-nodes"}, "ClusterRole"),
        _role(election, "Role", LEASE_ROWS),
        _binding(names, election, "Role"),
    ]


def bindings(names: Names, namespace: str | None) -> list[Manifest]:
    """Bind the Roles that serve LLMServices in one namespace, None for everywhere."""
    where = {"namespace": namespace} if namespace else {}
    return [_binding(names, {"name": names.cluster + suffix, **where}, "ClusterRole") for suffix in BOUND]


def _role(meta: Manifest, kind: str, rows: tuple[Row, ...]) -> Manifest:
    rules = [{"apiGroups": [g], "resources": [r], "verbs": list(verbs)} for g, r, verbs in rows]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": meta,
        "rules": rules,
    }


def _binding(names: Names, meta: Manifest, role: str) -> Manifest:
    """Bind the Role of that name; a binding with a namespace grants it only there."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding" if "namespace" in meta else "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": meta["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": names.own, "namespace": names.namespace}],
    }

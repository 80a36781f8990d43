"""The server's permissions: least verbs, each row with the call that needs it. Pure."""

from typing import Any

from llm_operator.resources import CONFIGMAPS, LEASES, NODES, PODS, SECRETS, Resource
from release_api.names import API, SERVICES

Manifest = dict[str, Any]
Row = tuple[str, str, tuple[str, ...]]
"""Group, resource, verbs."""

NAMESPACE = "llm-operator-system"


def _row(resource: Resource, *verbs: str) -> Row:
    return resource.group, resource.plural, verbs


ROWS: tuple[Row, ...] = (
    # The pod rule.
    _row(PODS, "list", "watch"),
    _row(NODES, "list", "watch"),
    # Plans, audit rows, autoscaling policies. RBAC cannot tell ConfigMaps apart by label.
    _row(CONFIGMAPS, "get", "list", "watch", "create", "patch", "delete"),
    # Archives, the seal's key; helm's records, to look at only.
    _row(SECRETS, "get", "list", "watch", "create", "patch", "delete"),
    _row(SERVICES, "get", "list", "watch", "create", "patch", "delete"),
    # One lock a release.
    _row(LEASES, "get", "list", "watch", "create", "update", "delete"),
    # Who asks, and whether they may.
    ("authentication.k8s.io", "tokenreviews", ("create",)),
    ("authorization.k8s.io", "subjectaccessreviews", ("create",)),
    # helm runs as the caller. The caller has shown a token, or stands in a plan that the server has sealed.
    ("", "users", ("impersonate",)),
    ("", "groups", ("impersonate",)),
    ("", "serviceaccounts", ("impersonate",)),
)


def manifests() -> list[Manifest]:
    """Build the account, its ClusterRole and the binding."""
    rules = [{"apiGroups": [g], "resources": [r], "verbs": list(verbs)} for g, r, verbs in ROWS]
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": API, "namespace": NAMESPACE}
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": API}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": API, "namespace": NAMESPACE}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": API}, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": API},
            "roleRef": role,
            "subjects": [subject],
        },
    ]

"""Accounts that call the API: each with the rights that a test gives it, and a token for the API."""

from collections.abc import Iterable
from typing import Any

import yaml

from controlplane.kube import wait_until
from controlplane.plane import Plane
from operator_harness.world import DEPLOY, PATIENCE, World

SERVER = ("llm-operator-system", "release-api")
AUDIENCE = "release-api"
ALL = ("get", "list", "watch", "create", "update", "patch", "delete")
EVERYTHING: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("", ("configmaps", "secrets", "services", "serviceaccounts"), ALL),
    ("apps", ("deployments",), ALL),
    ("batch", ("jobs",), ALL),
    ("routing.modelsphere.dev", ("modelroutes",), ALL),
    ("serving.modelsphere.dev", ("llmservices",), ALL),
)
"""What somebody needs who installs the test chart in either way."""
Rule = tuple[str, tuple[str, ...], tuple[str, ...]]


def install(plane: Plane) -> None:
    """Install the server's account and Role as they are shipped."""
    for document in yaml.safe_load_all((DEPLOY / "release-api" / "rbac.yaml").read_text()):
        plane.api.apply(document)


def caller(world: World, namespace: str, name: str, rules: Iterable[Rule] = EVERYTHING) -> str:
    """Make an account that may do what the rules say, in its own namespace; return its token."""
    api, rules = world.plane.api, tuple(rules)
    rbac = "rbac.authorization.k8s.io"
    meta = {"name": name, "namespace": namespace}
    granted = [{"apiGroups": [g], "resources": list(r), "verbs": list(v)} for g, r, v in rules]
    api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    api.apply({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": granted})
    binding: dict[str, Any] = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", **meta}],
    }
    api.apply(binding)
    for group, resources, verbs in rules[:1]:
        await_right(world, (namespace, name), (group, resources[0], verbs[-1]), allowed=True)
    return world.plane.token((namespace, name), AUDIENCE)


def await_right(
    world: World, account: tuple[str, str], right: tuple[str, str, str], *, allowed: bool
) -> None:
    """Wait until the API server judges by what was written of an account's (group, resource, verb)."""
    group, resource, verb = right
    what = {"namespace": account[0], "group": group, "resource": resource, "verb": verb}
    user = "system:serviceaccount:{}:{}".format(*account)
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": what},
    }

    def judged() -> bool:
        answer = world.plane.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"]["allowed"]) is allowed

    wait_until(judged, f"{user} may {verb} {resource}: {allowed}", PATIENCE, 0.05)

"""Who may do what: tokens, rights, and that helm can never do more than its caller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from controlplane.kube import wait_until
from operator_harness.tables import row_id
from operator_harness.world import PATIENCE
from releases_harness.callers import Rule, caller
from releases_harness.cases import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from operator_harness.world import World
    from releases_harness.client import Answer, Client

READ: tuple[Rule, ...] = (("", ("configmaps",), ("get", "list")),)
TABLE = yaml.safe_load((Path(__file__).parent / "tables" / "access.yaml").read_text())
OPERATIONS = {
    "list": ("GET", "/api/deployments", None),
    "look": ("GET", "", None),
    "look at nothing": ("GET", "-nothing", None),
    "install": ("POST", "-new", "install"),
    "install llmsvc": ("POST", "-svc", "llmsvc"),
    "upgrade": ("PUT", "", "change"),
    "rollback": ("POST", "/rollback", None),
    "uninstall nothing": ("DELETE", "-nothing", None),
    "uninstall": ("DELETE", "", None),
    "audit": ("GET", "/api/audit", None),
}
"""In this order: what each does to the case's release, or to one beside it."""


@pytest.fixture(scope="module")
def run(release_world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Return a server with one release."""
    run = Run(release_world, {"id": "access"}, tmp_path_factory.mktemp("access"))
    try:
        run.set_up()
        yield run
        assert run.server.complaints() == []
    finally:
        run.end()


def _call(client: Client, run: Run, operation: str) -> Answer:
    method, path, body = OPERATIONS[operation]
    bodies = {"install": run.body(), "llmsvc": run.body(backend="llmsvc"), "change": run.body()}
    target = path if path.startswith("/api") else run.path + path
    return client.call(method, target, bodies.get(body or ""))


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_matrix(row: dict[str, Any], run: Run) -> None:
    """Each caller gets exactly what its rights give, and learns nothing of what it may not see."""
    rules = [(group, tuple(resources), tuple(verbs)) for group, resources, verbs in row["rules"]]
    client = run.server.client(caller(run.world, run.namespace, row["id"].replace(" ", "-"), rules))
    answers = {operation: _call(client, run, operation) for operation in OPERATIONS}
    assert {operation: answer.status for operation, answer in answers.items()} == row["then"]
    if row.get("sees") == "nothing":
        assert answers["list"].body == answers["audit"].body == {"items": []}
    for operation in ("install", "upgrade", "rollback", "uninstall") if row.get("helm") else ():
        assert answers[operation].body["phase"] == "failed"
        assert "forbidden" in answers[operation].output
    secrets = run.world.plane.api.list("v1", "Secret", run.namespace, labelSelector="owner=helm,name=sable")
    assert len(secrets) == 1, "helm did something that its caller may not"


TOKENS = {
    "none": "",
    "garbage": "garbage",
    "static token of an administrator": "admin",
    "token for the API server": "default audience",
}


@pytest.mark.parametrize("kind", TOKENS)
def test_tokens(kind: str, run: Run) -> None:
    """Only tokens of the API's audience are taken, whatever else they would open."""
    plane = run.world.plane
    caller(run.world, run.namespace, "elsewhere")
    token = {
        "admin": plane.user_token("admin"),
        "default audience": plane.token((run.namespace, "elsewhere")),
    }.get(TOKENS[kind], TOKENS[kind])
    for method, path in (("GET", "/api/deployments"), ("GET", "/api/audit"), ("DELETE", run.path)):
        answer = run.server.client(token).call(method, path)
        assert answer.status == 401, answer
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_list_shows_only_what_the_caller_may_list(release_world: World, run: Run) -> None:
    """Rows and audit rows of a namespace are for those who may list its plans."""
    stranger = release_world.namespace("stranger")
    token = caller(release_world, stranger, "stranger", READ)
    assert run.server.client(token).rows() == []
    assert [row["release"] for row in run.client.rows() if row["release"] == "sable"] == ["sable"]
    assert run.server.client(token).call("GET", run.path).status == 403


def test_a_chart_cannot_escalate(run: Run) -> None:
    """A caller who may not create ClusterRoles installs a chart with one: refused, nothing elevated."""
    name = "climber"
    body = run.body()
    body["values"]["clusterRole"] = True
    answer = run.client.call("POST", f"/api/releases/{run.namespace}/{name}", body)
    assert (answer.status, answer.body["phase"]) == (200, "failed"), answer
    assert "forbidden" in answer.output
    api = run.world.plane.api
    role = f"{run.namespace}-{name}"
    assert api.find("rbac.authorization.k8s.io/v1", "ClusterRole", role) is None
    tries = [
        event
        for event in run.world.plane.audit(("clusterroles", role))
        if event["stage"] == "ResponseComplete" and "impersonatedUser" in event
    ]
    acted = {event["impersonatedUser"]["username"] for event in tries}
    assert acted == {f"system:serviceaccount:{run.namespace}:caller"}
    assert {event["responseStatus"]["code"] for event in tries} == {403}


SECRET = "hunter22-do-not-tell"  # noqa: S105 - made up


def test_no_secret_is_told(run: Run) -> None:
    """A value that helm's error quotes is in no answer, no record and no log."""
    body = run.body()
    body["values"] |= {"password": SECRET, "route": {"enabled": True, "apiVersion": f"{SECRET}.dev/v1"}}
    path = f"/api/releases/{run.namespace}/teller"
    answers = [run.client.call("POST", path, body), run.client.call("GET", path)]
    assert answers[0].body["phase"] == "failed"
    assert "***" in answers[0].output, answers[0]
    good = run.body()
    good["values"]["password"] = SECRET
    answers += [run.client.call("POST", path, good), run.client.call("PUT", path, body)]
    assert [answer.body["phase"] for answer in answers[2:]] == ["applied", "failed"]
    answers += [run.client.call("POST", f"{path}/rollback", {"revision": 1}), run.client.call("DELETE", path)]
    invalid = {**body, "chart": {"name": SECRET}, "more": SECRET, "values": SECRET}
    answers += [run.client.call("POST", path, invalid), run.client.call("GET", "/api/audit")]
    answers += [run.client.call("GET", "/api/deployments"), run.client.call("GET", "/metrics")]
    assert [answer for answer in answers if SECRET in str(answer.body)] == []
    assert SECRET not in run.server.log_file.read_text()
    configs = run.world.plane.api.list("v1", "ConfigMap", run.namespace)
    ours = [config for config in configs if config["metadata"]["name"].startswith("swiss-")]
    assert SECRET not in str(ours)
    assert run.token not in run.server.log_file.read_text()


def test_audit_pages(run: Run) -> None:
    """The audit pages, newest first, each row once."""
    path = f"/api/releases/{run.namespace}/pager"
    for method, body in (("POST", run.body()), ("PUT", run.body()), ("DELETE", None)):
        assert run.client.call(method, path, body).status == 200
    gone = lambda: run.client.row(run.namespace, "pager") is None  # noqa: E731 - one condition
    wait_until(gone, "it is removed", PATIENCE)
    whole = run.client.call("GET", "/api/audit?limit=500").body["items"]
    paged, query = [], "limit=2"
    while True:
        page = run.client.call("GET", f"/api/audit?{query}").body
        assert len(page["items"]) <= 2
        paged += page["items"]
        if "next" not in page:
            break
        query = f"limit=2&before={page['next']}"
    assert paged == whole
    assert [row["at"] for row in whole] == sorted((row["at"] for row in whole), reverse=True)
    told = [f"{row['verb']} {row['result']}" for row in reversed(whole) if row["release"] == "pager"]
    assert told == ["install done", "upgrade done", "uninstall started", "uninstall removed"]


def test_tokens_are_asked_about_again(run: Run) -> None:
    """A right that is taken away is gone for changes at once."""
    token = caller(run.world, run.namespace, "former")
    client = run.server.client(token)
    path = f"/api/releases/{run.namespace}/former"
    assert client.call("DELETE", path).status == 404
    caller(run.world, run.namespace, "former", READ)
    refused = lambda: client.call("DELETE", path).status == 403  # noqa: E731 - one condition
    wait_until(refused, "the API server knows the new Role", PATIENCE, 0.05)

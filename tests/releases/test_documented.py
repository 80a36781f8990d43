"""The documents' commands about the release API, each in a situation that they are for.

What is typed stands in the documents, what is printed in the files below `transcripts`: see support.shell.
"""

import re
from pathlib import Path

import yaml

from controlplane.kube import wait_until
from operator_harness.world import PATIENCE, World, kubeconfig_of
from release_api.names import AUTOSCALE_LABEL
from releases_harness.callers import caller
from releases_harness.cases import Run
from releases_harness.client import Client
from releases_harness.seen import POLICY
from support.shell import Shell

TRANSCRIPTS = Path(__file__).parent / "transcripts"
LEFT = [{"name": "sable-0"}]
ROLE = {"min": 1, "max": 9, "query": "load", "target": 10, "cooldown": {"up": "0s", "down": "0s"}}
# A Prometheus that does not answer.
SCALED = ("--prometheus-url", "http://127.0.0.1:9", "--autoscale-seconds", "0.5")


def _run(world: World, folder: Path, name: str, **case: object) -> tuple[Run, Shell]:
    """Return a release, with its server, and the shell of the one who installed it."""
    run = Run(world, {"id": f"doc-{name}", "steps": [], **case}, folder)
    return run, Shell(world.plane.tools, folder, world.plane.kubeconfig, NAME=run.name, NS=run.namespace)


def _log_in(run: Run, shell: Shell) -> None:
    token = run.folder / "token"
    token.write_text(run.token)
    shell.env["MODELCTL_SERVER"] = run.server.url
    shell.env["MODELCTL_CA"] = str(run.server.ca)
    shell.env["MODELCTL_TOKEN_FILE"] = str(token)


def test_token_and_rights(release_world: World, tmp_path: Path) -> None:
    """A token for the wrong audience, and an account that may not install."""
    run, shell = _run(release_world, tmp_path, "rights", installed=False)
    try:
        run.set_up()
        caller(release_world, run.namespace, "reader", [("", ("configmaps",), ("get", "list"))])
        account = (run.namespace, "reader")
        wrong = Client(run.server.url, release_world.plane.token(account), run.server.ca)
        refused = wrong.call("GET", run.path)
        assert (refused.status, "not valid for audience release-api" in refused.output) == (401, True)
        token = shell("token", {"ACCOUNT": "reader"}).strip()
        reader = Client(run.server.url, token, run.server.ca)
        assert reader.call("GET", run.path).status == 404
        denied = reader.call("POST", run.path, run.body(backend="helm"))
        assert (denied.status, "may not" in denied.output) == (403, True)
        shell("may-i", {"USER": f"system:serviceaccount:{run.namespace}:reader"}, code=1)
        shell.compare(TRANSCRIPTS / "token-and-rights.console")
    finally:
        run.end()


def test_in_progress(release_world: World, tmp_path: Path) -> None:
    """Somebody's apply hangs, and another one is refused: who holds the release."""
    run, shell = _run(release_world, tmp_path, "lock")
    try:
        run.set_up()
        run.helm.hang("upgrade")
        run.step("begin", "PUT")
        run.step("wait", {"runs": {"upgrade": 1}})
        run.step("do", {"PUT": {"status": 409, "has": "apply in progress"}})
        shell("lock")
        shell.compare(TRANSCRIPTS / "in-progress.console")
    finally:
        run.end()


def test_stuck(release_world: World, tmp_path: Path) -> None:
    """Helm has left a pod: after an hour the status prints the command that deletes it."""
    run, shell = _run(release_world, tmp_path, "stuck", pods=LEFT)
    try:
        run.set_up()
        _log_in(run, shell)
        run.step("do", {"DELETE": {"status": 200, "phase": "uninstalling"}})
        run.step("clock", "1h")
        run.step("wait", {"row": {"drift": "uninstall stuck: 1 live pods that helm did not delete"}})
        printed = re.search(r"kubectl delete pod.*", shell("status"))
        assert printed
        done = shell.type(f"{printed[0]} --wait=false")
        assert done.returncode == 0, done
        found = release_world.plane.api.get("v1", "Pod", "sable-0", run.namespace)
        assert "deletionTimestamp" in found["metadata"]
        run.step("remove", "pod/sable-0")
        run.step("tick", None)
        run.step("wait", {"row": "absent"})
        shell.compare(TRANSCRIPTS / "stuck.console")
    finally:
        run.end()


def test_changed_by_somebody_else(release_world: World, tmp_path: Path) -> None:
    """A plan whose seal does not hold: deleted again, by somebody who may."""
    run, shell = _run(release_world, tmp_path, "seal", pods=LEFT)
    try:
        run.set_up()
        _log_in(run, shell)
        run.step("forge", {"name": "admin", "groups": ["system:masters"]})
        message = "the plan was changed by somebody else: delete the release again"
        run.step("wait", {"row": {"phase": "uninstalling", "message": message}})
        shell("delete-release")
        run.step("wait", {"record": False})
        shell.compare(TRANSCRIPTS / "changed-by-somebody-else.console")
    finally:
        run.end()


def test_uninstall_failed(release_world: World, tmp_path: Path) -> None:
    """Helm could not uninstall; once it can the same command ends it."""
    run, shell = _run(release_world, tmp_path, "failed")
    try:
        run.set_up()
        _log_in(run, shell)
        run.helm.fail("uninstall", "no matches for kind Gauge")
        run.step("do", {"DELETE": {"status": 200, "phase": "failed", "has": "no matches for kind Gauge"}})
        run.helm.heal("uninstall")
        shell("delete-release-and-wait")
        run.step("check", {"row": "absent", "record": False})
        shell.compare(TRANSCRIPTS / "uninstall-failed.console")
    finally:
        run.end()


def test_not_scaled(release_world: World, tmp_path: Path) -> None:
    """Prometheus does not answer: the status says why nothing is scaled."""
    run, shell = _run(release_world, tmp_path, "scaled")
    run.server.flags = SCALED
    meta = {"name": POLICY + run.name, "namespace": run.namespace, "labels": {AUTOSCALE_LABEL: "true"}}
    data = {"policy.yaml": yaml.safe_dump({"roles": {"server": ROLE}})}
    try:
        run.set_up()
        _log_in(run, shell)
        release_world.plane.api.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
        )
        wait_until(lambda: _holds(run), "the row has a holdReason", PATIENCE)
        assert str(_holds(run)) in shell("status")
        shell.compare(TRANSCRIPTS / "not-scaled.console")
    finally:
        run.end()


def _holds(run: Run) -> str:
    row = run.client.row(run.namespace, run.name) or {}
    return str(row.get("holdReason", ""))


def test_install_with_curl(release_world: World, tmp_path: Path) -> None:
    """The README's request, with a token of one's own."""
    run, shell = _run(release_world, tmp_path, "curl", installed=False)
    try:
        run.set_up()
        own = kubeconfig_of(release_world.plane, (run.namespace, "caller"), tmp_path / "me")
        shell.env["KUBECONFIG"] = str(own)
        _may_ask_for_tokens(run)
        given = {
            "ca.crt": str(run.server.ca),
            "token me": f"token caller -n {run.namespace}",
            "https://release-api.llm-operator-system.svc": run.server.url,
            "https://charts.example": release_world.charts.url,
            "tide/brook": f"{run.namespace}/{run.name}",
        }
        shell("curl", given)
        run.step("wait", {"row": {"phase": "applied", "revision": 1}})
        shell.compare(TRANSCRIPTS / "install-with-curl.console")
    finally:
        run.end()


def _may_ask_for_tokens(run: Run) -> None:
    """Let the caller ask for tokens of its own account."""
    kind = ("rbac.authorization.k8s.io/v1", "Role")
    api = run.world.plane.api
    found = api.get(*kind, "caller", run.namespace)
    more = {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]}
    api.patch({**found, "apiVersion": kind[0], "kind": kind[1]}, {"rules": [*found["rules"], more]})


def test_apply_deployment(release_world: World, tmp_path: Path) -> None:
    """What the README applies is what the server takes."""
    shell = Shell(release_world.plane.tools, tmp_path, release_world.plane.kubeconfig)
    assert "deployment.apps/release-api" in shell("apply-release-api", part=lambda _: "")


def test_on_a_laptop(lone_world: World, tmp_path: Path) -> None:
    """Token and server as the README has them; inside the plane the port is nobody else's.

    It looks after all namespaces, and so would after those of other tests.
    """
    plane = lone_world.plane
    inside = plane.state.private("kubeconfigs") / "admin"
    shell = Shell(plane.tools, tmp_path, inside, where=tmp_path)
    shell("make-token")
    name = f"laptop-{tmp_path.name}"
    started = shell.prepared("try-release-api")
    plane.add_process(name, ["bash", "-ec", f"cd '{tmp_path}' && exec {started}"], shell.env)
    try:
        plane.wait(lambda: plane.listening(8080), "it listens", PATIENCE)
        token = (tmp_path / "token").read_text().strip()
        url = "http://127.0.0.1:8080/api/deployments"
        asked = ["curl", "-sS", "-w", "%{http_code}", "-H", f"Authorization: Bearer {token}", url]
        plane.wait(lambda: plane.run(asked).stdout.endswith("200"), "it lists the releases", PATIENCE)
    finally:
        plane.stop(name)

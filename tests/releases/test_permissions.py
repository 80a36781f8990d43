"""The server runs under exactly the shipped Role: no call is refused, and no verb is granted for nothing."""

from pathlib import Path

from controlplane.kube import Object, wait_until
from operator_harness.world import PATIENCE, World
from release_api import rbac
from releases_harness.callers import SERVER
from releases_harness.cases import Run

USER = f"system:serviceaccount:{SERVER[0]}:{SERVER[1]}"
CASE = {
    "id": "everything",
    "proxied": True,
    "autoscale": True,
    "pods": [{"name": "sable-0"}],
    "archives": [{"name": "extra"}],
}


def test_shipped_role_is_enough_and_no_more(lone_world: World, tmp_path: Path) -> None:
    """Both backends through everything: no 403 in the audit log, and every verb that is granted is used."""
    run = Run(lone_world, CASE, tmp_path)
    run.server.namespace = None  # As shipped: all namespaces.
    run.server.audit_namespace = SERVER[0]
    try:
        run.set_up()
        _helm(run)
        run.case |= {"backend": "llmsvc", "name": "onyx"}
        run._install()  # noqa: SLF001 - the same run, another backend
        run.step("do", {"PUT": {"status": 202}})
        run.step("do", {"DELETE": {"status": 200}})
        run.step("remove", "service")
        run.step("wait", {"row": "absent", "plan": "absent"})
        assert run.proxy is not None
        run.proxy.cut()  # A watch stands in the audit log once it has ended.
        granted = {(group, resource, verb) for group, resource, verbs in rbac.ROWS for verb in verbs}
        wait_until(lambda: granted <= _used(run), f"all of {granted} is used", PATIENCE)
    except Exception as error:
        error.add_note(f"not used: {granted - _used(run)}" if "granted" in locals() else run.told())
        raise
    finally:
        run.end()
    assert [event["requestURI"] for event in _events(run) if event["responseStatus"]["code"] == 403] == []


def _helm(run: Run) -> None:
    """Take a helm release through it all, an archive written twice and a lock taken over among it."""
    assert run.proxy is not None
    meta = {"name": "swiss-archive-sable-2", "namespace": run.namespace}
    run.world.plane.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
    run.step("do", {"PUT": {"status": 200, "phase": "applied"}})
    run.step("do", {"POST rollback": {"status": 200, "phase": "applied"}})
    run.helm.hang("uninstall")
    run.step("begin", "DELETE")
    run.step("wait", {"runs": {"uninstall": 1}})
    run.helm.heal("uninstall")
    run.step("restart", "kill")
    run.step("clock", "61s")
    run.step("wait", {"record": False})
    run.step("remove", "pod/sable-0")
    run.step("wait", {"row": "absent", "plan": "absent", "policy": False})


def _events(run: Run) -> list[Object]:
    """Return the server's own calls, and the impersonations that it was allowed."""
    return [event for event in run.world.plane.audit((USER,)) if _own(event)]


def _own(event: Object) -> bool:
    return event["stage"] == "ResponseComplete" and event["user"]["username"] == USER and "objectRef" in event


def _used(run: Run) -> set[tuple[str, str, str]]:
    used = set()
    for event in _events(run):
        ref = event["objectRef"]
        if "impersonatedUser" in event:
            used |= {("", "users", "impersonate"), ("", "groups", "impersonate")}
            used |= {("", "serviceaccounts", "impersonate")}
        else:
            used.add((ref.get("apiGroup", ""), ref["resource"], event["verb"]))
    return used

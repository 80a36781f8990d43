"""The controller runs under exactly the shipped Roles.

No call is refused, and no permission is there for nothing.
"""

import base64
from functools import partial
from http import HTTPStatus
from pathlib import Path

from controlplane.kube import wait_until
from llm_operator.teardown import rbac
from operator_harness import audit
from operator_harness.cases import Run
from operator_harness.proxy import Fault, proxied
from operator_harness.world import ACCOUNT, PATIENCE, World

OWN = (*rbac.CONTROLLER_ROWS, *rbac.NODE_ROWS, *rbac.FORCE_ROWS, *rbac.LEASE_ROWS)


def test_shipped_roles_are_enough_and_no_more(lone_world: World, tmp_path: Path) -> None:
    """One service that uses everything: no 403 in the audit log, and every verb that is granted is used."""
    run = _run_with_everything(lone_world, tmp_path)
    run.controller.namespace = None  # As shipped: all namespaces.
    with proxied(lone_world.plane, tmp_path) as proxy:
        run.controller.kubeconfig = proxy.kubeconfig
        try:
            _values(run)
            run.set_up()
            proxy.add(Fault("PATCH", f"/llmservices/{run.name}/status$", before=partial(_touch, run)))
            run.step("delete", "pod/sable-0")
            run.step("delete", "service")
            run.step("wait", {"stage": "RouteRemoving"})
            run.step("remove", "route")
            run.step("clock", "10s")
            run.step("wait", {"held": False, "outcome": "PodsForceDeleted"})
            run.controller.stop()
            proxy.cut()  # A watch stands in the audit log once it has ended.
            granted = {(resource, verb) for _, resource, verbs in OWN for verb in verbs}
            wait_until(lambda: granted <= _used(lone_world), f"all of {granted} is used", PATIENCE)
        finally:
            run.end()
    refused = [str(call) for call in _calls(lone_world) if call.code == HTTPStatus.FORBIDDEN]
    assert refused == []


def _calls(world: World) -> list[audit.Call]:
    return [call for call in audit.calls(world.plane) if call.who == "controller"]


def _used(world: World) -> set[tuple[str, str]]:
    return {(call.resource, call.verb) for call in _calls(world)}


def _run_with_everything(world: World, folder: Path) -> Run:
    case = {
        "id": "everything",
        "spec": {
            "deletion": {"routeSettle": "0s", "forceDeleteAfter": "5s"},
            "valuesFrom": [{"kind": "ConfigMap", "name": "v"}, {"kind": "Secret", "name": "v"}],
        },
        "values": {"route": {"finalizers": ["example.test/route-controller"]}},
        "pods": [{"name": "sable-0", "grace": 600}],
    }
    return Run(world, case, folder)


def _values(run: Run) -> None:
    meta = {"name": "v", "namespace": run.namespace}
    text = base64.b64encode(b"password: from-a-secret").decode()
    for kind, data in (("ConfigMap", "grace: 60"), ("Secret", text)):
        obj = {"apiVersion": "v1", "kind": kind, "metadata": meta, "data": {"values.yaml": data}}
        run.world.plane.api.create(obj)


def _touch(run: Run) -> None:
    """Change the object under the controller, so that its write is outdated and it reads the object again."""
    service = run.service()
    assert service is not None
    run.world.plane.api.patch(service, {"metadata": {"labels": {"example.test/touched": "yes"}}})


def test_force_delete_needs_its_own_role(operator_world: World, tmp_path: Path) -> None:
    """Without the opt-in Role a forced deletion is refused.

    One Warning per pod, and the teardown goes on waiting.
    """
    run = _run_with_everything(operator_world, tmp_path)
    run.case["spec"] = {"deletion": {"routeSettle": "0s", "forceDeleteAfter": "5s"}}
    run.case["values"] = {}
    run.controller.account = _account_without_force(operator_world)
    try:
        run.set_up()
        run.step("delete", "pod/sable-0")
        run.step("delete", "service")
        run.step("wait", {"stage": "PodsTerminating"})
        run.step("clock", "10s")
        run.step("wait", {"stage": "ForceDeleting", "event": "PodForceDeleteRefused"})
        for _ in range(3):
            run.step("clock", "5s")
            run.step("hold", {"held": True, "stage": "ForceDeleting"})
        run.step("wait", {"forceDeleted": None})
        run.step("remove", "pod/sable-0")
        run.step("clock", "5s")
        run.step("wait", {"held": False})
        reasons = [event["reason"] for event in run.events()]
        assert reasons.count("PodForceDeleteRefused") == 1
        assert run.controller.complaints() == []
    finally:
        run.end()


def _account_without_force(world: World) -> tuple[str, str]:
    api, account = world.plane.api, (ACCOUNT[0], "without-force")
    for obj in rbac.manifests():
        if "force-delete" in obj["metadata"]["name"] or obj["kind"] in ("ClusterRole", "Role"):
            continue
        copy = {**obj, "metadata": {**obj["metadata"], "name": obj["metadata"]["name"] + "-2"}}
        if obj["kind"] == "ServiceAccount":
            copy["metadata"]["name"] = account[1]
        else:
            copy["subjects"] = [{**obj["subjects"][0], "name": account[1]}]
        api.apply(copy)
    return account

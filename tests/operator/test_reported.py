"""Cases taken from public bug reports about finalizer controllers, on a real API server with real helm."""

from pathlib import Path

import pytest

from controlplane.kube import Object
from operator_harness import audit
from operator_harness.cases import Run
from operator_harness.proxy import Fault, proxied
from operator_harness.world import FINALIZER, World

THEIRS = "audit.example.test/hold"
NO_PAGE = {"message": "404 page not found"}
"""What the server says about a kind that is not installed: nothing about any object."""


def _finalizers(service: Object | None) -> list[str]:
    return list(((service or {}).get("metadata") or {}).get("finalizers") or [])


def test_no_reinstall_of_a_dying_service(operator_world: World, tmp_path: Path) -> None:
    """ai-dynamo/dynamo#8204: after our finalizer is off, an object that lingers is never touched again."""
    case = {"id": "dying-service", "spec": {"deletion": {"routeSettle": "0s", "maxWait": "10m"}}}
    run = Run(operator_world, {**case, "pods": [{"name": "sable-0"}]}, tmp_path)
    api = operator_world.plane.api
    try:
        run.set_up()
        owner = _hold_by_a_dependent(run)
        api.delete(owner, "Foreground")
        run.step("wait", {"stage": "PodsTerminating"})
        run.step("remove", "pod/sable-0")
        run.step("clock", "5s")
        run.step("wait", {"held": False})
        for step in range(6):
            api.patch(owner, {"metadata": {"annotations": {"example.test/touched": str(step)}}})
            run.step("hold", {"held": False, "stage": "Released", "outcome": "Clean"})
            if step == 3:
                run.step("restart", "kill")
        assert "foregroundDeletion" in _finalizers(run.service())
        assert [len(run.helm.runs(verb)) for verb in ("install", "upgrade", "rollback", "uninstall")] == [
            1,
            0,
            0,
            1,
        ]
        made = [str(call) for call in audit.changes(operator_world.plane, run.namespace)]
        assert made.count("controller delete modelroutes") == 1
        assert made.count("controller patch llmservices") == 2, (
            "once to put the finalizer on, once to take it off"
        )
        assert made[-1] == "controller patch llmservices"
        assert run.controller.complaints() == []
    finally:
        run.end()


def _hold_by_a_dependent(run: Run) -> Object:
    """Let an object depend on the service that does not go.

    Then the collector keeps foregroundDeletion on it.
    """
    owner = run.service()
    assert owner is not None
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    meta = {
        "name": "dependent",
        "namespace": run.namespace,
        "finalizers": ["example.test/stays"],
        "ownerReferences": [reference],
    }
    run.world.plane.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    return owner


def test_finalizer_patch_touches_only_ours(operator_world: World, tmp_path: Path) -> None:
    """nolar/kopf#1252.

    A finalizer that its own controller takes off meanwhile does not come back, no other goes.
    """
    case = {
        "id": "only-ours",
        "values": {"route": {"enabled": False}},
        "spec": {"deletion": {"routeSettle": "0s", "maxWait": "10m"}},
        "finalizers": [THEIRS],
    }
    run = Run(operator_world, case, tmp_path)

    def theirs_goes() -> None:
        service = run.service()
        assert service is not None
        kept = [name for name in _finalizers(service) if name != THEIRS]
        operator_world.plane.api.patch(service, {"metadata": {"finalizers": kept}})

    with proxied(operator_world.plane, tmp_path) as proxy:
        run.controller.kubeconfig = proxy.kubeconfig
        try:
            run.set_up()
            before = _finalizers(run.service())
            assert before.index(THEIRS) < before.index(FINALIZER), "its going moves ours"
            fault = proxy.add(Fault("PATCH", f"/llmservices/{run.name}$", before=theirs_goes))
            run.step("delete", "service")
            run.step("wait", {"held": False})
            assert fault.hits == 1
            assert _finalizers(run.service()) == [name for name in before if name not in (THEIRS, FINALIZER)]
            assert run.status()["deletion"]["outcome"] == "NoRoute"
            assert len(run.helm.runs("uninstall")) == 1
            assert run.controller.complaints() == []
        finally:
            run.end()


def test_route_kind_is_not_installed(operator_world: World, tmp_path: Path) -> None:
    """ai-runway/airunway#239.

    'no such kind' is gone like 'no such object', and the settle counts from there.
    """
    case = {"id": "no-kind", "spec": {"deletion": {"routeSettle": "30s", "maxWait": "10m"}}}
    run = Run(operator_world, {**case, "pods": [{"name": "sable-0"}]}, tmp_path)
    with proxied(operator_world.plane, tmp_path) as proxy:
        run.controller.kubeconfig = proxy.kubeconfig
        try:
            run.set_up()
            for method in ("GET", "DELETE"):
                proxy.add(
                    Fault(method, "/apis/routing.modelsphere.dev", times=None, status=404, body=NO_PAGE)
                )
            run.step("delete", "service")
            run.step("wait", {"stage": "RouteSettling"})
            run.step("clock", "10s")
            run.step("hold", {"stage": "RouteSettling"})
            run.step("clock", "21s")
            run.step("wait", {"stage": "PodsTerminating"})
            run.step("remove", "pod/sable-0")
            run.step("clock", "5s")
            run.step("wait", {"held": False, "outcome": "Clean"})
            assert len(run.helm.runs("uninstall")) == 1
            assert run.controller.complaints() == []
        finally:
            run.end()


@pytest.mark.parametrize("status", [403, 500, 503])
def test_any_other_error_is_not_gone(operator_world: World, tmp_path: Path, status: int) -> None:
    """A route that cannot be looked at is waited for, up to the deadline and not beyond."""
    run = Run(operator_world, {"id": f"error-{status}", "spec": {"deletion": {"maxWait": "10m"}}}, tmp_path)
    with proxied(operator_world.plane, tmp_path) as proxy:
        run.controller.kubeconfig = proxy.kubeconfig
        try:
            run.set_up()
            body = {"kind": "Status", "message": "the route is out of reach", "code": status}
            proxy.add(Fault("GET", "/modelroutes/", times=None, status=status, body=body))
            run.step("delete", "service")
            run.step("wait", {"stage": "RouteRemoving", "message": "the route is out of reach"})
            run.step("clock", "9m")
            run.step("hold", {"stage": "RouteRemoving"})
            run.step("clock", "61s")
            run.step("wait", {"held": False, "outcome": "RouteStuck"})
            assert run.controller.complaints() == []
        finally:
            run.end()

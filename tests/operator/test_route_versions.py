"""A ModelRoute whose kind is served in another version than the chart wrote is not gone: it is waited for."""

from pathlib import Path

from controlplane.kube import Object, wait_until
from operator_harness.cases import Run
from operator_harness.world import PATIENCE, World

GROUP = "routing.gpucluster.io"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"modelroutes.{GROUP}"},
}
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def _serve(world: World, *, old: bool) -> None:
    """Serve the old version beside v1, or no more, and wait until the server does so."""
    api = world.plane.api
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": SCHEMA},
        {"name": "v1alpha1", "served": old, "storage": False, "schema": SCHEMA},
    ]
    api.patch(CRD, {"spec": {"versions": versions}})

    def served() -> bool:
        group = api.request("GET", f"/apis/{GROUP}")
        return ("v1alpha1" in [version["version"] for version in group["versions"]]) is old

    wait_until(served, f"v1alpha1 is {'' if old else 'not '}served", PATIENCE)


def _route(run: Run) -> Object | None:
    return run.world.plane.api.find(f"{GROUP}/v1", "ModelRoute", run.name, run.namespace)


def test_found_in_another_version(operator_world: World, tmp_path: Path) -> None:
    """It is deleted in the version that is served, and only its own controller lets it go."""
    _serve(operator_world, old=True)
    route = {"apiVersion": f"{GROUP}/v1alpha1", "finalizers": ["example.test/route-controller"]}
    run = Run(operator_world, {"id": "versions", "values": {"route": route}}, tmp_path)
    try:
        run.set_up()
        _serve(operator_world, old=False)
        run.step("delete", "service")
        run.step("wait", {"stage": "RouteRemoving"})
        wait_until(lambda: _going(run), "the route is asked to go", PATIENCE)
        run.step("clock", "5s")
        run.step("hold", {"stage": "RouteRemoving"})
        left = _route(run)
        assert left is not None
        left |= {"apiVersion": f"{GROUP}/v1", "kind": "ModelRoute"}
        operator_world.plane.api.patch(left, {"metadata": {"finalizers": None}})
        run.step("clock", "5s")
        run.step("wait", {"stage": "RouteSettling"})
        run.step("annotate", {"deletion-policy": "Orphan"})
        run.step("wait", {"held": False})
        assert run.controller.complaints() == []
    finally:
        run.end()


def _going(run: Run) -> bool:
    return "deletionTimestamp" in (_route(run) or {"metadata": {}})["metadata"]

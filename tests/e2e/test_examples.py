"""The examples of InferenceClusters, applied as they stand, get Ready and are deleted.

Placeholders are filled in: kubeconfig and charts. The clouds other than EKS are in test_swap, the other kinds
in test_late_step and in the tests of the demos.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from e2e.serving import SERVING_KINDS, Serving
from policies.planes import exclusive
from support.rendering import EXAMPLES, documents
from support.shell import Shell
from support.world import CLUSTER, SECRET, World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from controlplane.plane import Plane
    from operator_harness.charts import Repository

Manifest = dict[str, Any]

FOLDERS = ["local", "existing", "eks", "services", "staged"]
NAMESPACE = "models"
# Longer than any settle that the examples ask for.
SETTLED_SECONDS = 600


@pytest.mark.timeout(1200)  # Two have a service of one name, and take turns.
@pytest.mark.parametrize("folder", FOLDERS)
def test_example_gets_ready_and_is_deleted(
    folder: str, shared_plane: Callable[[str], Plane], charts: Repository, tmp_path: Path
) -> None:
    """Applied, Ready with all its services, deleted in foreground, nothing left."""
    plane = shared_plane("open")
    manifests = [_filled_in(plane, charts, m) for m in _manifests(folder)]
    (cluster,) = [m for m in manifests if m["kind"] == CLUSTER[1]]
    world = World(plane, cluster["metadata"]["name"], SERVING_KINDS)
    alone = exclusive(plane, "models") if "services" in cluster["spec"] else nullcontext()
    with alone, world, Serving(world, charts, tmp_path) as it:
        it.controller.close()
        it.namespace = it.controller.namespace = NAMESPACE
        if "services" in cluster["spec"]:
            _prepare_services(plane)
            it.controller.start()
        if folder == "eks":
            Shell(plane.tools, tmp_path, plane.kubeconfig)("apply-folder", {"FOLDER": f"examples/{folder}"})
        else:
            for manifest in sorted(manifests, key=lambda m: m is cluster):
                plane.api.apply(manifest)
        world.ready()
        plane.wait(
            lambda: it.condition("ServicesReady")[0] == "True", "its services are ready", 120, pause=0.5
        )
        if folder == "staged":
            with pytest.raises(Exception, match=r"spec\.deletion\.mode is Staged"):
                world.delete("Foreground")
        else:
            world.delete("Foreground")
        plane.wait(lambda: _gone(it), f"{world.name} is gone", 400, pause=1)
        world.all_gone()


def _manifests(folder: str) -> list[Manifest]:
    files = sorted((EXAMPLES / folder).glob("*.yaml"))
    return [m for f in files if f.name != "providers.yaml" for m in documents(f.read_text("utf-8"))]


def _filled_in(plane: Plane, charts: Repository, manifest: Manifest) -> Manifest:
    if manifest["kind"] == SECRET[1]:
        inside = plane.state.private("kubeconfigs") / "admin"
        return {**manifest, "stringData": {"kubeconfig": inside.read_text()}}
    for service in manifest.get("spec", {}).get("services", []):
        service["chart"] = {"repository": charts.url, "name": "textgen", "version": "0.1.0"}
    return manifest


def _prepare_services(plane: Plane) -> None:
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    metadata = {"name": "hub-token", "namespace": NAMESPACE}
    values = {"values.yaml": "password: not-shown"}
    plane.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values})


def _gone(it: Serving) -> bool:
    """Say whether the cluster is gone; spare the test the minutes of a settle."""
    if not it.cluster():
        return True
    settling = [
        s
        for s in it.plane.api.list("serving.modelsphere.dev/v1alpha1", "LLMService", NAMESPACE)
        if s.get("status", {}).get("deletion", {}).get("stage") == "RouteSettling"
    ]
    if settling:
        it.controller.move_clock(SETTLED_SECONDS)
    return False

"""The late step of another team's pipeline: its composite comes down in order, whatever way it is deleted.

The pipeline is that of examples/late-step; its first step is played by `support.patching`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest
import yaml

from controlplane.timeline import Ref, Timeline
from support.product import established
from support.rendering import EXAMPLES, documents
from support.world import (
    CLUSTER_USAGE,
    HELM_CONFIG,
    HOLD,
    KUBERNETES_CONFIG,
    OBJECT,
    RELEASE,
    SYSTEM,
    USAGE,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from controlplane.plane import Plane

Manifest = dict[str, Any]

FOLDER = EXAMPLES / "late-step"
WORKSPACE = ("platform.example.org/v1alpha1", "Workspace")
COMPOSED = (OBJECT, RELEASE, KUBERNETES_CONFIG, HELM_CONFIG, USAGE)
KEY = "crossplane.io/composition-resource-name"
USAGES = {f"usage-pc-{user}" for user in ("namespace", "settings", "agent")}
USAGES |= {f"usage-namespace-by-{user}" for user in ("settings", "agent")}


def install(plane: Plane) -> None:
    """Apply the example's API and Composition; its chart comes from the plane's registry."""
    plane.kubectl("apply", "-f", str(FOLDER / "definition.yaml"))
    text = (FOLDER / "composition.yaml").read_text("utf-8")
    composition = yaml.safe_load(text.replace("registry.example.org", plane.registry))
    for entry in composition["spec"]["pipeline"][0]["input"]["resources"]:
        if entry["name"] == "agent":
            entry["base"]["spec"]["forProvider"]["plainHTTP"] = True
    plane.api.apply(composition)
    plane.wait(lambda: established(plane, {"workspaces.platform.example.org"}), "Workspaces are served")


def composed(plane: Plane, name: str) -> dict[str, Manifest]:
    """Return what there is of a Workspace, by key; what is forgotten is not in it."""
    labels = {"labelSelector": f"crossplane.io/composite={name}"}
    found = (item for kind in COMPOSED for item in plane.api.list(*kind, SYSTEM, **labels))
    return {item["metadata"]["annotations"][KEY]: item for item in found}


def up(plane: Plane, name: str) -> dict[str, Ref]:
    """Create the example's Workspace under this name; return what it composed once every Usage works."""
    (workspace,) = documents((FOLDER / "workspace.yaml").read_text("utf-8"))
    workspace["metadata"]["name"] = workspace["spec"]["team"] = name
    plane.api.create(workspace)
    plane.wait(lambda: _ready(plane, name), f"Workspace {name} is ready and its Usages work", 180, pause=0.5)
    found = composed(plane, name).items()
    return {k: Ref(m["kind"], SYSTEM, m["metadata"]["name"]) for k, m in found}


def _ready(plane: Plane, name: str) -> bool:
    found = composed(plane, name)
    working = {key for key in USAGES & found.keys() if _is_ready(found[key])}
    return working == USAGES and _is_ready(plane.api.get(*WORKSPACE, name, SYSTEM))


def _is_ready(manifest: Manifest) -> bool:
    conditions = manifest.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def refused(plane: Plane, ref: Ref, plural: str) -> bool:
    """Whether the audit log has a delete of an object that the Usage webhook refused."""
    return any(
        event["objectRef"].get("name") == ref.name
        and event["objectRef"]["resource"] == plural
        and event.get("responseStatus", {}).get("code") == 409
        for event in plane.audit(containing=(f'"name":"{ref.name}"', '"verb":"delete"'))
        if event["verb"] == "delete"
    )


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_a_pipeline_with_the_late_step_comes_down_in_order(
    shared_plane: Callable[[str], Plane], propagation: Literal["Background", "Foreground"]
) -> None:
    """A slow user keeps what it needs for as long as it takes; the audit log has the refusals."""
    plane, name = shared_plane("open"), f"late-{propagation.lower()}"
    install(plane)
    kinds = (WORKSPACE, *COMPOSED, CLUSTER_USAGE)
    with Timeline(plane.api, kinds, only=lambda ref: ref.name.startswith(name)) as timeline:
        parts = up(plane, name)
        remote: Manifest = {"apiVersion": "v1", "kind": "ConfigMap"}
        remote["metadata"] = {"name": "settings", "namespace": name}
        plane.api.patch(remote, {"metadata": {"finalizers": [HOLD]}})

        head = {"apiVersion": WORKSPACE[0], "kind": WORKSPACE[1]}
        plane.api.delete({**head, "metadata": {"name": name, "namespace": SYSTEM}}, propagation)
        timeline.wait_gone(parts["agent"], 120)
        plane.wait(lambda: refused(plane, parts["namespace"], "objects"), "the namespace is kept", 60)
        assert plane.api.find(*KUBERNETES_CONFIG, name, SYSTEM), "the ProviderConfig did not wait"
        plane.api.patch(remote, {"metadata": {"finalizers": None}})

        timeline.wait_gone(Ref(WORKSPACE[1], SYSTEM, name), 180)
        plane.wait(lambda: not composed(plane, name), f"nothing of {name} is left", 180, pause=0.5)
        assert_in_order(timeline, parts)


def assert_in_order(timeline: Timeline, parts: dict[str, Ref]) -> None:
    """Assert what every edge of the pipeline asks for, by the server's own versions."""
    went = {(e.ref, e.object["apiVersion"].partition("/")[0]): e.version for e in timeline.gone()}
    helm, kube = (kind[0].partition("/")[0] for kind in (RELEASE, OBJECT))
    at = {key: went[parts[key], helm if key in ("agent", "helm") else kube] for key in parts.keys() - USAGES}
    for protected, user in (
        ("namespace", "settings"),
        ("namespace", "agent"),
        ("helm", "agent"),
        ("kubernetes", "settings"),
        ("kubernetes", "namespace"),
    ):
        assert at[user] < at[protected], f"{protected} went before {user}: {at}"

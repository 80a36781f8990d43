"""The two ways to deploy the controller install the same, and the API server takes it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.kube import Object
from operator_harness.world import ACCOUNT, DEPLOY, World

SYSTEM = ACCOUNT[0]


def _kustomize(world: World) -> list[Object]:
    return list(yaml.safe_load_all(world.plane.kubectl("kustomize", str(DEPLOY))))


def _chart(world: World, *flags: str, name: str = ACCOUNT[1]) -> list[Object]:
    command = [
        world.plane.tools["helm"],
        "template",
        name,
        str(DEPLOY / "chart"),
        "--namespace",
        SYSTEM,
    ]
    done = subprocess.run([*command, "--include-crds", *flags], check=True, capture_output=True, text=True)
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def _keyed(documents: list[Object]) -> dict[tuple[str, str], Object]:
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in documents}


def _shared_names(documents: list[Object]) -> list[Object]:
    """Call what lies outside of namespaces as the kustomization does, which is installed once."""
    text = yaml.safe_dump_all(documents).replace(f"{SYSTEM}-{ACCOUNT[1]}", ACCOUNT[1])
    return list(yaml.safe_load_all(text))


def _container(documents: list[Object]) -> dict[str, Any]:
    deployment = next(obj for obj in documents if obj["kind"] == "Deployment")
    container: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    return container


@pytest.mark.parametrize("render", [_kustomize, _chart], ids=["kustomize", "chart"])
def test_the_server_takes_it(render: Any, operator_world: World) -> None:  # noqa: ANN401 - one of the two above
    """Every object passes the API server's own validation, without a warning about the container's rights."""
    for obj in render(operator_world):
        operator_world.plane.api.apply({**obj, "metadata": {**obj["metadata"]}}, manager="test-deploy")


def test_both_ways_install_the_same(operator_world: World) -> None:
    """Apart from the namespace object, the flags and the release's name, chart and kustomization agree."""
    bundle, chart = _keyed(_kustomize(operator_world)), _keyed(_shared_names(_chart(operator_world)))
    assert set(bundle) - set(chart) == {("Namespace", SYSTEM)}
    assert set(chart) - set(bundle) == set()
    for key in set(chart) - {("Deployment", "llmservice-controller")}:
        assert chart[key] == bundle[key]
    ours, theirs = _container(_kustomize(operator_world)), _container(_chart(operator_world))
    theirs.pop("args")
    assert theirs == ours


@pytest.mark.parametrize("render", [_kustomize, _chart], ids=["kustomize", "chart"])
def test_the_container_has_no_rights(render: Any, operator_world: World) -> None:  # noqa: ANN401 - one of the two above
    """Non-root, read-only, no capabilities: what the restricted Pod Security Standard asks for."""
    deployment = next(obj for obj in render(operator_world) if obj["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    security = pod["containers"][0]["securityContext"]
    assert security == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    meta = {"name": "probe", "namespace": SYSTEM}
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}
    enforce = {"pod-security.kubernetes.io/enforce": "restricted"}
    api = operator_world.plane.api
    api.patch(namespace, {"metadata": {"labels": enforce}})
    template = {**pod, "serviceAccountName": ACCOUNT[1]}
    api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template}, dryRun="All")


def test_some_namespaces_only(operator_world: World) -> None:
    """The chart passes its values on as flags, and grants nothing but nodes outside of the namespaces."""
    documents = _chart(operator_world, "--set", "watchNamespaces={tide,ebb},helmStarts=3")
    args = _container(documents)["args"]
    assert [arg for arg in args if arg.startswith("--namespace")] == ["--namespace=tide", "--namespace=ebb"]
    assert "--helm-starts=3" in args
    everywhere = [obj["metadata"]["name"] for obj in documents if obj["kind"] == "ClusterRoleBinding"]
    assert everywhere == [f"{SYSTEM}-{ACCOUNT[1]}-nodes"]


@pytest.mark.parametrize(
    ("flags", "lease"),
    [
        pytest.param([], "llmservice-controller", id="all namespaces: the Lease of all such"),
        pytest.param(["--set", "watchNamespaces={tide}"], "other", id="some: a Lease of its own"),
    ],
)
def test_of_those_for_all_namespaces_one_leads(operator_world: World, flags: list[str], lease: str) -> None:
    """A second installation for all namespaces waits for the first, by whatever way each came."""
    args = _container(_chart(operator_world, *flags, name="other"))["args"]
    assert [arg for arg in args if "lease-name=" in arg] == [f"--lease-name={lease}"]


def test_files_are_there() -> None:
    """The kustomization names every file beside it that is to be applied."""
    named = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    there = {path.name for path in Path(DEPLOY).glob("*.yaml")} - {"kustomization.yaml"}
    assert set(named) == there

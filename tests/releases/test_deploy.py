"""Kustomization and chart of the release API install the same, and the API server takes it."""

import subprocess
from typing import Any

import pytest
import yaml

from controlplane.kube import Object
from operator_harness.world import DEPLOY, World
from release_api.options import parse

FOLDER = DEPLOY / "release-api"
SYSTEM = "llm-operator-system"


def _kustomize(world: World) -> list[Object]:
    return list(yaml.safe_load_all(world.plane.kubectl("kustomize", str(FOLDER))))


def _chart(world: World) -> list[Object]:
    command = [world.plane.tools["helm"], "template", "api", str(FOLDER / "chart"), "--namespace", SYSTEM]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def _keyed(documents: list[Object]) -> dict[tuple[str, str], Object]:
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in documents}


def _container(documents: list[Object]) -> dict[str, Any]:
    deployment = next(obj for obj in documents if obj["kind"] == "Deployment")
    container: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    return container


@pytest.mark.parametrize("render", [_kustomize, _chart], ids=["kustomize", "chart"])
def test_the_server_takes_it(render: Any, release_world: World) -> None:  # noqa: ANN401 - one of the two above
    """Every object passes the API server's own validation; the container has no rights."""
    documents = render(release_world)
    for obj in documents:
        release_world.plane.api.apply(obj, manager="test-deploy-api")
    security = _container(documents)["securityContext"]
    assert security == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_both_ways_install_the_same(release_world: World) -> None:
    """Apart from the namespace object and the flags, chart and kustomization agree."""
    bundle, chart = (_keyed(render(release_world)) for render in (_kustomize, _chart))
    assert set(bundle) - set(chart) == {("Namespace", SYSTEM)}
    assert set(chart) - set(bundle) == set()
    for key in set(chart) - {("Deployment", "release-api")}:
        assert chart[key] == bundle[key]
    ours, theirs = _container(_kustomize(release_world)), _container(_chart(release_world))
    flags = theirs.pop("args")
    assert theirs == ours
    options = parse([*ours["command"][3:], *flags])
    assert (options.namespace, options.helm_starts, options.write_rate) == (SYSTEM, 8, 10.0)

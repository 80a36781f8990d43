"""Two installations of the chart with disjoint namespaces live side by side."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path

import pytest

from controlplane.kube import ApiError, wait_until
from operator_harness.controller import Controller
from operator_harness.world import API, DEPLOY, PATIENCE, World

SETTLED = {"deletion": {"routeSettle": "0s"}}


def test_each_looks_after_its_own(operator_world: World, tmp_path: Path) -> None:
    """Two and one namespaces: each leads, installs and takes down its own, and may not touch the others."""
    system = operator_world.namespace("shards")
    west = [operator_world.namespace("west") for _ in range(2)]
    east = [operator_world.namespace("east")]
    with (
        _shard(operator_world, (system, "west"), west, tmp_path) as first,
        _shard(operator_world, (system, "east"), east, tmp_path) as second,
    ):
        for namespace in (*west, *east):
            operator_world.plane.api.create(operator_world.service(namespace, "sable", SETTLED))
        for namespace in (*west, *east):
            _wait_ready(operator_world, namespace)
        assert _refused(operator_world, (system, "west"), east[0])
        assert _refused(operator_world, (system, "east"), west[0])
        _take_down(operator_world, [west[1], east[0]])
        assert operator_world.find_service(west[0], "sable") is not None
        _take_down(operator_world, [west[0]])
        assert first.leads()
        assert second.leads()
        assert first.complaints() + second.complaints() == []


@contextmanager
def _shard(
    world: World, account: tuple[str, str], namespaces: list[str], folder: Path
) -> Iterator[Controller]:
    """Install the chart with the real helm, and run the controller with the flags of its Deployment."""
    helm = [world.plane.tools["helm"], "--kubeconfig", str(world.plane.kubeconfig), "--namespace", account[0]]
    watched = f"watchNamespaces={{{','.join(namespaces)}}}"
    install = [*helm, "install", account[1], str(DEPLOY / "chart"), "--set", watched]
    subprocess.run(install, check=True, capture_output=True)
    own = folder / account[1]
    own.mkdir()
    deployment = world.plane.api.get("apps/v1", "Deployment", account[1], account[0])
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    controller = Controller(world, own, account=account, flags=tuple(container["args"]))
    try:
        controller.start()
        yield controller
    finally:
        controller.close()
        subprocess.run([*helm, "uninstall", account[1]], check=True, capture_output=True)


def _wait_ready(world: World, namespace: str) -> None:
    def ready() -> bool:
        service = world.find_service(namespace, "sable") or {}
        return bool((service.get("status") or {}).get("phase") == "Ready")

    wait_until(ready, f"{namespace}/sable is ready", PATIENCE)


def _take_down(world: World, namespaces: list[str]) -> None:
    for namespace in namespaces:
        world.plane.api.delete(world.service(namespace, "sable"))
    for namespace in namespaces:
        wait_until(partial(_gone, world, namespace), f"{namespace}/sable is gone", PATIENCE)


def _gone(world: World, namespace: str) -> bool:
    return world.find_service(namespace, "sable") is None


def _refused(world: World, account: tuple[str, str], namespace: str) -> bool:
    """Say whether the account may not even look at a namespace's LLMServices."""
    api = world.plane.api.as_user(world.plane.token(account))
    with pytest.raises(ApiError) as refused:
        api.list(API, "LLMService", namespace)
    return refused.value.status == HTTPStatus.FORBIDDEN

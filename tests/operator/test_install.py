"""Installing and upgrading the release of a living LLMService, with real helm."""

import base64
import subprocess
from pathlib import Path
from typing import Any

from controlplane.kube import Object, wait_until
from operator_harness import audit
from operator_harness.cases import Run
from operator_harness.world import PATIENCE, World

HELM_ROLE = "llmservice-controller-helm"
OWNER = "serving.modelsphere.dev/llmservice-uid"
PASSWORD = "correct-horse-battery/v1"  # noqa: S105 - what must not show up anywhere


def _run(world: World, folder: Path, **case: Any) -> Run:  # noqa: ANN401 - parts of a case
    return Run(world, {"id": "install", **case}, folder)


def _records(run: Run) -> list[Object]:
    return run.world.plane.api.list(
        "v1", "Secret", run.namespace, labelSelector=f"owner=helm,name={run.name}"
    )


def _config(run: Run) -> Object | None:
    return run.world.plane.api.find("v1", "ConfigMap", run.name, run.namespace)


def test_install_upgrade_and_drift(operator_world: World, tmp_path: Path) -> None:
    """The release carries the mark.

    A change of what is applied upgrades it, any other change and drift do not.
    """
    run = _run(operator_world, tmp_path)
    try:
        run.set_up()
        service = run.service()
        assert service is not None
        assert [record["metadata"]["labels"][OWNER] for record in _records(run)] == [
            service["metadata"]["uid"]
        ]
        assert service["status"]["release"] == {"name": "sable", "revision": 1, "chart": "textgen-0.1.0"}
        run.step("spec", {"values": {"password": "changed"}})
        wait_until(lambda: _revision(run) == 2, "the release is upgraded", PATIENCE)
        assert {record["metadata"]["labels"][OWNER] for record in _records(run)} == {
            service["metadata"]["uid"]
        }
        config = _config(run)
        assert config is not None
        operator_world.plane.api.delete({**config, "apiVersion": "v1", "kind": "ConfigMap"})
        run.step("spec", {"deletion": {"maxWait": "2h"}})
        run.step("wait", {"generation_seen": True})
        run.step("restart", "stop")
        run.step("hold", {"phase": "Ready"})
        assert _config(run) is None, "drift is left alone"
        assert _revision(run) == 2, "a knob is nothing that helm applies"
        assert [len(run.helm.runs(verb)) for verb in ("install", "upgrade")] == [1, 1]
        assert run.controller.complaints() == []
    finally:
        run.end()


def _revision(run: Run) -> object:
    return (run.status().get("release") or {}).get("revision")


def test_failed_install_is_told_and_retried(operator_world: World, tmp_path: Path) -> None:
    """Helm's error stands in the condition.

    It is retried after 10 s, 20 s and so on, or at once when the spec changes.
    """
    run = _run(operator_world, tmp_path, values={"broken": True}, installed=False)
    try:
        run.set_up()
        run.step("wait", {"phase": "Failed", "ready": "HelmFailed"})
        assert "spec.ports[0].port" in str(run.status()["conditions"])
        run.step("clock", "3s")
        run.step("hold", {"phase": "Failed"})
        assert (len(run.helm.runs("install")), len(run.helm.runs("upgrade"))) == (1, 0)
        run.step("clock", "8s")
        wait_until(lambda: len(run.helm.runs("upgrade")) == 1, "the second try", PATIENCE)
        run.step("wait", {"phase": "Failed"})
        run.step("clock", "11s")
        run.step("hold", {"phase": "Failed"})
        assert len(run.helm.runs("upgrade")) == 1, "the second wait is longer"
        run.step("spec", {"values": {"broken": False}})
        run.step("wait", {"phase": "Ready", "ready": "Deployed"})
        assert run.controller.complaints() == []
    finally:
        run.end()


def test_secrets_reach_no_message(operator_world: World, tmp_path: Path) -> None:
    """A value from a Secret that helm prints in an error is not in status, events or logs."""
    spec = {"valuesFrom": [{"kind": "Secret", "name": "v"}]}
    run = _run(operator_world, tmp_path, spec=spec, installed=False)
    try:
        text = base64.b64encode(f"route: {{apiVersion: {PASSWORD}}}".encode()).decode()
        meta = {"name": "v", "namespace": run.namespace}
        operator_world.plane.api.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"values.yaml": text}}
        )
        run.set_up()
        run.step("wait", {"phase": "Failed", "ready": "HelmFailed"})
        assert "***" in str(run.status()), "helm did print it"
        for place in (
            str(run.status()),
            str(run.events()),
            run.controller.log_file.read_text(),
            run.helm.log.read_text(),
        ):
            assert PASSWORD not in place
    finally:
        run.end()


def test_missing_values_are_told(operator_world: World, tmp_path: Path) -> None:
    """A values source that is not there is named; an optional one is passed over."""
    missing = {"kind": "ConfigMap", "name": "nowhere"}
    run = _run(operator_world, tmp_path, spec={"valuesFrom": [missing]}, installed=False)
    try:
        run.set_up()
        run.step("wait", {"phase": "Failed", "ready": "HelmFailed"})
        assert "ConfigMap nowhere has no key values.yaml" in str(run.status()["conditions"])
        assert run.helm.runs("install") == []
        run.step("spec", {"valuesFrom": [{**missing, "optional": True}]})
        run.step("wait", {"phase": "Ready"})
    finally:
        run.end()


def test_helm_runs_as_the_account_of_the_namespace(operator_world: World, tmp_path: Path) -> None:
    """With serviceAccountName helm has that account's permissions and no others, in the audit log too."""
    run = _run(operator_world, tmp_path, spec={"serviceAccountName": "installer"}, installed=False)
    api = operator_world.plane.api
    try:
        meta = {"name": "installer", "namespace": run.namespace}
        api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        run.set_up()
        run.step("wait", {"phase": "Failed", "ready": "HelmFailed"})
        assert f"system:serviceaccount:{run.namespace}:installer" in str(run.status()["conditions"])
        assert _records(run) == []
        _bind(run, meta)
        run.step("clock", "11s")
        run.step("wait", {"phase": "Ready"})
        helm = [e for e in operator_world.plane.audit() if e.get("userAgent", "").startswith("Helm/")]
        mine = [e for e in helm if (e.get("objectRef") or {}).get("namespace") == run.namespace]
        users = {(e.get("impersonatedUser") or {}).get("username") for e in mine}
        assert users == {f"system:serviceaccount:{run.namespace}:installer"}
    finally:
        run.end()


def _bind(run: Run, account: dict[str, str]) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "installer", "namespace": run.namespace},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "llmservice-controller-helm",
        },
        "subjects": [{"kind": "ServiceAccount", **account}],
    }
    run.world.plane.api.create(binding)


def test_interrupted_install_is_cleaned_up(operator_world: World, tmp_path: Path) -> None:
    """A helm that was killed in the middle leaves `pending-install`; the next controller starts over."""
    run = _run(operator_world, tmp_path, values={"installHook": True}, installed=False)
    try:
        run.set_up()
        wait_until(lambda: _pending(run), "helm waits for its hook", PATIENCE)
        run.controller.kill()
        run.step("spec", {"values": {"installHook": False}})
        run.controller.start()
        run.step("wait", {"phase": "Ready"})
        assert [record["metadata"]["labels"]["status"] for record in _records(run)] == ["deployed"]
        assert [len(run.helm.runs(verb)) for verb in ("install", "uninstall", "upgrade")] == [2, 1, 0]
        assert run.controller.complaints() == []
    finally:
        run.end()


def _pending(run: Run) -> bool:
    return [record["metadata"]["labels"]["status"] for record in _records(run)] == ["pending-install"]


def test_recreated_under_the_same_name(operator_world: World, tmp_path: Path) -> None:
    """An object of the same name with another UID is another object.

    The first one's release is not its own.
    """
    run = _run(operator_world, tmp_path, annotations={"deletion-policy": "Orphan"})
    try:
        run.set_up()
        old = run.service()
        assert old is not None
        run.step("delete", "service")
        run.step("wait", {"held": False})
        run.world.plane.api.patch(old, {"metadata": {"finalizers": None}})
        wait_until(lambda: run.service() is None, "the first object is gone", PATIENCE)
        run.world.plane.api.create(run.world.service(run.namespace, run.name))
        run.step("wait", {"phase": "Failed", "ready": "ForeignRelease"})
        run.step("delete", "service")
        wait_until(lambda: run.service() is None, "the second object is gone", PATIENCE)
        assert len(_records(run)) == 1
        assert run.helm.runs("uninstall") == []
    finally:
        run.end()


def test_unreadable_record_waits(operator_world: World, tmp_path: Path) -> None:
    """A record that cannot be decoded is neither gone nor held.

    Nothing is uninstalled, and it is named at the end.
    """
    run = _run(operator_world, tmp_path, spec={"deletion": {"routeSettle": "0s", "maxWait": "10m"}})
    try:
        run.set_up()
        record = _records(run)[0]
        run.world.plane.api.patch(record, {"data": {"release": base64.b64encode(b"no record").decode()}})
        run.step("delete", "service")
        run.step("wait", {"stage": "RouteRemoving", "message": record["metadata"]["name"]})
        run.step("clock", "9m")
        run.step("hold", {"held": True, "stage": "RouteRemoving"})
        run.step("clock", "61s")
        run.step(
            "wait", {"held": False, "outcome": "TimedOut", "message": "helm release sable is left behind"}
        )
        assert run.helm.runs("uninstall") == []
        made = [str(call) for call in audit.changes(operator_world.plane, run.namespace)]
        assert "controller delete modelroutes" not in made
        assert len(_records(run)) == 1
    finally:
        run.end()


def test_uninstalled_history_counts_as_gone(operator_world: World, tmp_path: Path) -> None:
    """A release that somebody uninstalled with its history kept is gone: no route, no helm, released."""
    run = _run(operator_world, tmp_path, spec={"deletion": {"routeSettle": "0s"}})
    plane = operator_world.plane
    try:
        run.set_up()
        argv = [plane.tools["helm"], "uninstall", run.name, "--keep-history", "--namespace", run.namespace]
        subprocess.run([*argv, "--kubeconfig", str(plane.kubeconfig)], check=True, capture_output=True)
        run.step("delete", "service")
        run.step("wait", {"held": False, "outcome": "NoRoute"})
        assert run.helm.runs("uninstall") == []
    finally:
        run.end()

"""The local control plane itself: isolation, no process left, deaths reported, own accounts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from controlplane import cli, layout
from controlplane.errors import ComponentDiedError, ControlPlaneError
from controlplane.kube import ApiError
from controlplane.options import Options
from controlplane.plane import Plane
from controlplane.supervisor import TOKEN_FOLDER
from controlplane.timeline import Ref, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from controlplane.kube import Object

SYSTEM = "system:serviceaccount:crossplane-system:"
OWNER = """
import sys, time
from controlplane.options import Options
from controlplane.plane import Plane
with Plane.up(sys.argv[1], Options.kubernetes()) as plane:
    plane.add_process("outlasting", ["sh", "-c", "trap '' TERM INT; setsid sleep 600 & sleep 600"])
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the planes of one test apart from all others."""
    monkeypatch.setenv("CONTROLPLANE_STATE", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def whole(shared_plane: Callable[[str], Plane]) -> Plane:
    """Return a plane with everything, for all tests that only look."""
    return shared_plane("whole")


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of all processes on this machine that belong to the plane in `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            # A killed process stays as a zombie until its parent looks; it is not left over.
            state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if str(folder).encode() in told and state != "Z" and process.name != str(os.getpid()):
            found.append((process / "cmdline").read_bytes().decode())
    return found


def assert_all_gone(folder: Path, seconds: float = 40) -> None:
    """Wait until no process of the plane is left."""
    deadline = time.monotonic() + seconds
    while left := processes_of(folder):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.05)


def config_map(name: str, owner: Object | None = None) -> Object:
    """Return a ConfigMap, owned by another if given."""
    metadata: Object = {"name": name, "namespace": "default"}
    if owner:
        keys = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", **keys}]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_two_planes_at_once_know_nothing_of_each_other() -> None:
    """Two planes run side by side on the same inner ports, each with its own objects."""
    with Plane.up("one", Options.kubernetes()) as one, Plane.up("two", Options.kubernetes()) as two:
        one.api.create(config_map("only-here"))
        assert one.server != two.server
        assert two.api.find("v1", "ConfigMap", "only-here", "default") is None
        with pytest.raises(ControlPlaneError, match="already runs"):
            Plane.up("one", Options.kubernetes())
        assert one.api.find("v1", "ConfigMap", "only-here", "default")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_its_owner(state: Path, number: signal.Signals) -> None:
    """Kill, Ctrl-C and termination of the owner leave no process, stubborn grandchildren included."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, "owned"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == b"up\n"
        assert len(processes_of(state / "owned")) > 5
        owner.send_signal(number)
        owner.wait(60)
    assert_all_gone(state / "owned")
    assert {path.name for path in (state / "owned").iterdir()} <= {"logs", "audit.log"}


def test_interrupt_while_starting_leaves_no_process(state: Path) -> None:
    """Ctrl-C before the plane is up ends what has been started so far."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, "early"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:
        log = state / "early" / "logs" / "kube-apiserver.log"
        deadline = time.monotonic() + 60
        while not log.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        owner.send_signal(signal.SIGINT)
        owner.wait(60)
        assert owner.returncode != 0
    assert_all_gone(state / "early")


def test_exception_in_the_block_leaves_no_process_and_shows_the_logs(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception passes through, the ends of the logs are printed without secrets, nothing is left."""
    tokens = []

    def block() -> None:
        with Plane.up("raising", Options.kubernetes()) as plane:
            tokens.extend([plane.user_token("admin"), plane.token(("default", "default"))])
            plane.add_process("telltale", ["echo", *tokens])
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        block()
    printed = capsys.readouterr().err
    assert "--- kube-controller-manager" in printed
    assert "--- telltale" in printed
    assert not any(token in printed for token in tokens)
    assert processes_of(state / "raising") == []


def test_component_that_dies_is_reported_with_the_end_of_its_log(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A component that ends unasked fails a wait at once, and the block even when nothing waits."""

    def block() -> None:
        with Plane.up("dying", Options.kubernetes()) as plane:
            plane.add_process("failing", ["sh", "-c", "echo the last words; exit 3"])
            with pytest.raises(ComponentDiedError, match="the last words"):
                plane.wait(lambda: False, "never", 20)

    with pytest.raises(ComponentDiedError, match=r"(?s)failing ended by itself with code 3.*the last words"):
        block()
    assert "the last words" in capsys.readouterr().err
    assert processes_of(state / "dying") == []


def test_component_that_is_stopped_on_purpose_is_no_failure() -> None:
    """A kill asked for through the plane is not a death; a restart brings the component back."""
    with Plane.up("restarting", Options.kubernetes()) as plane:
        plane.kill("kube-controller-manager")
        assert plane.status()["kube-controller-manager"]["state"] == "stopped"
        plane.restart("kube-controller-manager")
        # It ends when it finds no API server for ten seconds after its start: so not at once.
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "acts"}})
        plane.wait(lambda: plane.api.find("v1", "ServiceAccount", "default", "acts"), "it acts again")
        plane.restart("kube-apiserver")
        plane.wait(lambda: plane.api.find("v1", "ServiceAccount", "default", "default"), "the API is back")
        assert {report["state"] for report in plane.status().values()} == {"running"}


def test_command_line_brings_a_plane_up_and_down(state: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`up` leaves a plane that outlives the command, a second `up` finds it, `down` leaves nothing."""
    command = [sys.executable, "-m", "controlplane"]
    for _ in range(2):
        subprocess.run([*command, "up", "--name", "cli", "--preset", "kubernetes"], check=True)
    assert cli.main(["status", "--name", "cli"]) == 0
    assert cli.main(["exec", "--name", "cli", "--", "kubectl", "get", "namespaces"]) == 0
    assert cli.main(["kubeconfig", "--name", "cli"]) == 0
    output = capfd.readouterr().out
    assert "kube-apiserver" in output
    assert "kube-system" in output
    assert output.endswith(f"{state / 'cli' / 'kubeconfig'}\n")
    subprocess.run([*command, "down", "--name", "cli"], check=True)
    assert_all_gone(state / "cli")
    assert not (state / "cli").exists()
    assert cli.main(["status", "--name", "cli"]) == 1


def test_garbage_collector_acts_under_its_own_account(whole: Plane) -> None:
    """The audit log names the collector's service account for the delete of an orphan's child."""
    owner = whole.api.create(config_map("owner"))
    whole.api.create(config_map("child", owner))
    with Timeline(whole.api, [("v1", "ConfigMap")]) as timeline:
        whole.api.delete(owner, "Background")
        timeline.wait_gone(Ref("ConfigMap", "default", "child"), 60)
        assert timeline.gone_order() == [
            Ref("ConfigMap", "default", "owner"),
            Ref("ConfigMap", "default", "child"),
        ]
    expected = {"owner": "admin", "child": "system:serviceaccount:kube-system:generic-garbage-collector"}

    def told() -> bool:  # An audit line may come after the watch event.
        deletes = (
            event
            for event in whole.audit(containing=("configmaps",))
            if event["verb"] == "delete" and event["objectRef"]["resource"] == "configmaps"
        )
        return {event["objectRef"]["name"]: event["user"]["username"] for event in deletes} == expected

    whole.wait(told, "the audit log names both")


def test_every_component_acts_under_its_own_account(whole: Plane) -> None:
    """Each server is seen in the audit log as itself; only the test's administrator is system:masters."""
    users = {event["user"]["username"] for event in whole.audit()}
    assert users >= {
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:serviceaccount:kube-system:kwok-controller",
        *(SYSTEM + name for name in ("crossplane", "rbac-manager", "provider-kubernetes", "provider-helm")),
    }
    masters = {
        event["user"]["username"]
        for event in whole.audit()
        if "system:masters" in event["user"].get("groups", ())
    }
    # The API server's calls to itself are always made as such.
    assert masters == {"admin", "system:apiserver"}


def test_roles_of_a_real_installation_suffice(whole: Plane) -> None:
    """No component was refused anything while everything came up."""
    refused = {
        (event["user"]["username"], event["verb"], event["requestURI"])
        for event in whole.audit()
        if event["responseStatus"]["code"] == 403 and event["user"]["username"] != "alice"
    }
    assert refused == set()


def test_ordinary_user_may_do_nothing(whole: Plane) -> None:
    """A static user without roles is known and refused."""
    with pytest.raises(ApiError, match="alice") as refusal:
        whole.api.as_user(whole.user_token("alice")).list("v1", "Secret", "default")
    assert refusal.value.status == 403


def test_added_process_finds_the_credentials_of_its_account(whole: Plane) -> None:
    """A process of a test's own is its service account, by in-cluster configuration and by kubeconfig."""
    account = ("default", "default")
    seen = whole.run(
        ["sh", "-c", f"cat {TOKEN_FOLDER}/namespace; echo; ls {TOKEN_FOLDER}; env"], account=account
    )
    assert seen.stdout.splitlines()[:4] == ["default", "ca.crt", "namespace", "token"]
    assert "KUBERNETES_SERVICE_HOST=127.0.0.1" in seen.stdout
    kubeconfig = whole.kubeconfig_for(account, inside=True)
    who = whole.run([whole.tools["kubectl"], "--kubeconfig", str(kubeconfig), "auth", "whoami"])
    assert "system:serviceaccount:default:default" in who.stdout


def test_host_sees_inner_ports_only_where_they_are_forwarded(whole: Plane) -> None:
    """An inner port answers inside; on the host it does on the port that was asked for."""
    assert whole.listening(layout.REGISTRY)
    port = whole.forward(layout.REGISTRY)
    done = subprocess.run(
        [whole.tools["crane"], "catalog", f"127.0.0.1:{port}"], capture_output=True, text=True, check=True
    )
    assert "crossplane-contrib/provider-helm" in done.stdout


def test_terminating_pod_goes_after_the_time_its_annotation_says(whole: Plane) -> None:
    """Kwok makes a pod ready at once and lets it go after the annotated delay, not before, not at random."""
    node = {"name": "fake", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    whole.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": node})
    metadata = {
        "name": "slow",
        "namespace": "default",
        "annotations": {"controlplane/terminates-after": "3s"},
    }
    spec = {"terminationGracePeriodSeconds": 600, "containers": [{"name": "main", "image": "none"}]}
    whole.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    whole.wait(lambda: running(whole.api.get("v1", "Pod", "slow", "default")), "the pod runs")
    with Timeline(whole.api, [("v1", "Pod")]) as timeline:
        started = time.monotonic()
        whole.api.delete(whole.api.get("v1", "Pod", "slow", "default"))
        timeline.wait_gone(Ref("Pod", "default", "slow"), 60)
        assert time.monotonic() - started > 2.5  # The grace period is ten minutes.


def running(pod: Object) -> bool:
    """Say whether a pod runs."""
    return bool(pod["status"].get("phase") == "Running")

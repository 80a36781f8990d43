"""modelctl against the release API as a process, on a real API server with real helm."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from controlplane.toolbox import Toolbox
from modelctl.exits import Exit
from operator_harness.world import kubeconfig_of
from releases_harness.cases import Run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from operator_harness.world import World

POD = {"name": "left", "phase": "Running"}
DONE = subprocess.CompletedProcess[str]


class Person:
    """Somebody with a terminal, and the token of the case's caller in a file."""

    def __init__(self, run: Run) -> None:
        """Write the token."""
        self.run = run
        self.token = run.folder / "token"
        self.token.write_text(run.token + "\n")

    def command(self, *words: str) -> list[str]:
        """Return a command line, with its server."""
        server = self.run.server
        return [sys.executable, "-m", "modelctl", *words, "--server", server.url, "--ca", str(server.ca)]

    def says(self, *words: str, code: Exit = Exit.DONE, token: Path | None = None) -> DONE:
        """Run a command with a token file and compare its exit code."""
        argv = [*self.command(*words), "--token-file", str(token or self.token)]
        return self.runs(argv, code)

    @staticmethod
    def runs(argv: list[str], code: Exit) -> DONE:
        """Run a command line and compare its exit code."""
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done
        return done


@contextmanager
def watching(argv: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command line while the body does something; it ends with the body."""
    waiting = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield waiting
    finally:
        waiting.kill()
        waiting.wait()
        for stream in filter(None, (waiting.stdout, waiting.stderr)):
            stream.close()


@contextmanager
def person(world: World, folder: Path, name: str, **case: object) -> Iterator[Person]:
    """Return somebody, with a release of helm's that is installed unless the case says otherwise."""
    run = Run(world, {"id": f"modelctl-{name}", "steps": [], **case}, folder)
    try:
        run.set_up()
        yield Person(run)
    finally:
        run.end()


def test_list_and_status(release_world: World, tmp_path: Path) -> None:
    """What is there, for people and as JSON; only what the caller may see."""
    with person(release_world, tmp_path, "list") as me:
        namespace, name = me.run.namespace, me.run.name
        lines = me.says("releases", "list").stdout.splitlines()
        assert lines[0].split()[:5] == ["NAMESPACE", "RELEASE", "BACKEND", "CHART", "PHASE"]
        assert [line.split()[:6] for line in lines[1:]] == [
            [namespace, name, "helm", "textgen-0.1.0", "applied", "1"]
        ]
        (row,) = json.loads(me.says("releases", "list", "-o", "json").stdout)["items"]
        assert (row["release"], row["phase"], row["revision"]) == (name, "applied", 1)
        assert "Phase:        applied" in me.says("releases", "status", name, "-n", namespace).stdout
        body = json.loads(me.says("releases", "status", f"{namespace}/{name}", "-o", "json").stdout)
        assert body["planStatus"]["phase"] == "applied"
        assert me.says("releases", "list", "-n", "elsewhere").stdout == "no releases\n"


def test_delete_waits_until_the_pods_are_gone(release_world: World, tmp_path: Path) -> None:
    """Without --wait it returns when helm has; with it when the last pod has gone; then there is nothing."""
    with person(release_world, tmp_path, "wait", pods=[POD]) as me:
        target = ("releases", "delete", f"{me.run.namespace}/{me.run.name}")
        done = me.says(*target)
        assert done.stdout.startswith(f"{me.run.namespace}/{me.run.name}: uninstalling: release ")
        late = me.says(*target, "--wait", "--timeout", "12s", code=Exit.TIMED_OUT)
        assert "1 pod left: left" in late.stderr
        assert "it goes on: repeat to watch it" in late.stderr.splitlines()[-1]
        argv = [*me.command(*target, "--wait", "-o", "json"), "--token-file", str(me.token)]
        with watching(argv) as waiting:
            assert waiting.stderr is not None
            assert "uninstalling" in waiting.stderr.readline()
            me.run.step("remove", "pod/left")
            out, _ = waiting.communicate(timeout=60)
        assert waiting.returncode == Exit.DONE
        assert json.loads(out)["phase"] == "gone"
        assert me.says(*target, code=Exit.NOT_FOUND).stderr.count("\n") == 1


def test_delete_of_an_llmservice_shows_its_stage(release_world: World, tmp_path: Path) -> None:
    """Stage, pods and deadline of status.deletion are shown, one line for each change."""
    with person(release_world, tmp_path, "stage", backend="llmsvc") as me:
        argv = me.command("releases", "delete", f"{me.run.namespace}/{me.run.name}", "--wait")
        with watching([*argv, "--token-file", str(me.token)]) as waiting:
            assert waiting.stderr is not None
            assert "uninstalling" in waiting.stderr.readline()
            me.run.step("wait", {"row": {"phase": "uninstalling"}})
            times = {"startedAt": "2031-05-06T10:00:00Z", "deadline": "2031-05-06T11:00:00Z"}
            pods = [{"name": "left", "phase": "Running"}]
            deletion = {"stage": "PodsTerminating", "podsRemaining": 1, "pods": pods, **times}
            me.run.step("status", {"phase": "Deleting", "deletion": deletion})
            seen = ""
            while "deadline" not in seen:
                seen += (line := waiting.stderr.readline())
                assert line, seen
            me.run.step("remove", "service")
            out, _ = waiting.communicate(timeout=60)
        assert waiting.returncode == Exit.DONE
        assert out == f"{me.run.namespace}/{me.run.name} is gone\n"
        assert "uninstalling, PodsTerminating" in seen
        assert "  1 pod left: left" in seen
        assert "  deadline 2031-05-06 11:00:00 UTC" in seen


def test_what_helm_cannot_do_fails(release_world: World, tmp_path: Path) -> None:
    """A failed uninstall ends with code 1 and helm's words, and can be repeated."""
    with person(release_world, tmp_path, "fails") as me:
        target = ("releases", "delete", f"{me.run.namespace}/{me.run.name}", "--wait")
        me.run.step("helm", {"verb": "uninstall", "fails": "no matches for kind Gauge"})
        failed = me.says(*target, code=Exit.FAILED)
        assert "no matches for kind Gauge" in failed.stderr
        me.run.step("helm", {"verb": "uninstall"})
        me.says(*target)


def test_conflict(release_world: World, tmp_path: Path) -> None:
    """While something is applied nothing is deleted: code 6, to be tried again."""
    with person(release_world, tmp_path, "conflict") as me:
        me.run.step("helm", {"verb": "upgrade", "hangs": True})
        me.run.step("begin", "PUT")
        me.run.step("wait", {"runs": {"upgrade": 1}})
        refused = me.says("releases", "delete", f"{me.run.namespace}/{me.run.name}", code=Exit.CONFLICT)
        assert refused.stderr == "error: apply in progress\n"


def test_tokens(release_world: World, tmp_path: Path) -> None:
    """A wrong token is refused, one is asked of Kubernetes, and the kubeconfig's own has another audience."""
    with person(release_world, tmp_path, "tokens", installed=False) as me:
        wrong = me.run.folder / "wrong"
        wrong.write_text("nobody's\n")
        denied = me.says("releases", "list", code=Exit.DENIED, token=wrong)
        assert denied.stderr.count("\n") == 1
        plane, account = me.run.world.plane, f"{me.run.namespace}/caller"
        listing = [*me.command("releases", "list"), "--kubeconfig"]
        asked = me.runs([*listing, str(plane.kubeconfig), "--service-account", account], Exit.DONE)
        assert asked.stdout == "no releases\n"
        own = kubeconfig_of(plane, (me.run.namespace, "caller"), me.run.folder / "kubeconfig")
        me.runs([*listing, str(own)], Exit.DENIED)
        nobody = me.runs([*listing, str(own), "--service-account", f"{me.run.namespace}/caller"], Exit.DENIED)
        assert nobody.stderr.startswith("error: Kubernetes: ")


def test_terminal(release_world: World, tmp_path: Path) -> None:
    """On a terminal the progress is redrawn in place, with times as seen from now."""
    with person(release_world, tmp_path, "terminal", pods=[POD]) as me:
        argv = me.command(
            "releases", "delete", f"{me.run.namespace}/{me.run.name}", "--wait", "--timeout", "12s"
        )
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*argv, "--token-file", str(me.token)], stderr=theirs, env={**os.environ, "TERM": "xterm"}
        ) as shown:
            os.close(theirs)
            drawn = _drain(ours)
        assert shown.returncode == Exit.TIMED_OUT
        assert "\x1b[J" in drawn
        assert "A\r\x1b[J" in drawn
        assert re.search(r", for \d+s", drawn), drawn


def _drain(terminal: int) -> str:
    """Read until the other end is closed, which Linux tells as an error."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode()


@pytest.mark.parametrize("program", ["modelctl", "kubectl-modelctl"])
def test_installed(program: str) -> None:
    """Both programs are installed; as a plugin it calls itself what kubectl does."""
    folder = os.path.dirname(sys.executable)  # noqa: PTH120 - one call
    done = subprocess.run([f"{folder}/{program}", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: {program.replace('-', ' ')} ")


def test_kubectl_finds_the_plugin() -> None:
    """`kubectl modelctl` is this program."""
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # noqa: PTH120 - one call
    argv = [Toolbox.ready()["kubectl"], "modelctl", "releases", "list"]
    env = {**os.environ, "PATH": path, "MODELCTL_SERVER": "nowhere"}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("error: 'nowhere' is no address")

"""The whole demo, as a program of its own on a real control plane."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from controlplane.kube import wait_until
from examples.demo import demo, verdict
from examples.demo.modes import MODES
from support import commands, documented

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
# What must be told in each mode.
TOLD = {
    "cascade": ["ValidatingAdmissionPolicy 'forceforeground'", r"Release envoy-gateway +waits for +gateway"],
    "staged": [
        r"resource\s+is\s+in-use\s+by\s+1\s+usage",
        r"InferenceCluster demo +refused",
    ],
}
SERVICE_STAGES = ("RouteRemoving", "RouteSettling", "Uninstalling", "PodsTerminating", "Released")


@contextmanager
def started(folder: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a demo, its control plane in a folder of its own."""
    environment = {**os.environ, "CONTROLPLANE_STATE": str(folder), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def processes_of(folder: Path) -> list[str]:
    """Return the processes of this machine that know the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            known = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            zombie = (process / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            continue
        if str(folder).encode() in known and not zombie:
            found.append(process.name)
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", MODES)
def test_whole_demo_keeps_the_order_and_leaves_nothing(tmp_path: Path, mode: str) -> None:
    """It exits 0, tells refusal and stages, every claim holds, no process and no file is left."""
    command = documented.command(f"demo-{mode}")
    with started(tmp_path, *shlex.split(command)) as process:
        output, _ = process.communicate(timeout=850)
    assert process.returncode == 0, output
    documented.note(command)
    for pattern in TOLD[mode]:
        assert re.search(pattern, output), pattern
    for _, name in demo.SERVICES:
        assert tuple(re.findall(rf"LLMService {name} +stage +(\w+)", output)) == SERVICE_STAGES
    staged = re.findall(r"InferenceCluster demo +stage +(\w+)", output)
    assert staged == [*MODES[mode].stages]
    installed = verdict.Installed(demo.TABLE, demo.SERVICES, MODES[mode].stages)
    assert output.count("  ok  ") == len(verdict.judge(installed, [], []))
    assert "FAIL" not in output
    assert "\x1b" not in output
    assert max(len(line) for line in output.splitlines()) <= 100
    assert processes_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    if mode == "cascade":
        assert_told_as_in_the_readme(output)


def assert_told_as_in_the_readme(output: str) -> None:
    """Assert that the demo typed the commands of the README's transcript, and said what stands below them."""
    shown = commands.shown("README.md")
    assert len(shown) == 2
    for command, told in shown:
        assert f"$ {command}\n" in output
        documented.note(command)
        assert [words for words in entries(told) if words not in entries(output)] == []


def entries(text: str) -> list[list[str]]:
    """Return the words of each thing that a demo tells, without times and what varies with them."""
    joined = re.sub(r"\n {40,}", " ", text)
    # Who of several goes last, at which version of the server, and in which order some are named, may differ.
    lines = [line for line in joined.splitlines() if " free to go " not in line]
    timeless = [
        re.sub(r"^ *\d+\.\d+s | \d+\.\d+s #\d+ before.*$| \(API clients:.*$", "", line) for line in lines
    ]
    return [sorted(re.split(r"[\s,;]+", line.strip())) for line in timeless]


@pytest.mark.timeout(600)
def test_demo_of_the_release_api(tmp_path: Path) -> None:
    """It exits 0, keeps its promises, and no process is left."""
    with started(tmp_path, *shlex.split(documented.command("demo-api"))) as process:
        output, _ = process.communicate(timeout=550)
    assert process.returncode == 0, output
    documented.note(documented.command("demo-api"))
    assert output.count("  ok  ") == 3
    assert processes_of(tmp_path) == []


def test_interrupt_ends_the_demo_with_one_line(tmp_path: Path) -> None:
    """Ctrl-C while the control plane starts: one line, exit code 130, no process left, no traceback."""
    with started(tmp_path, sys.executable, "examples/demo/demo.py") as process:
        assert process.stdout
        lines = iter(process.stdout.readline, "")
        assert any("etcd" in line for line in lines)
        wait_until(lambda: list(tmp_path.rglob("kube-apiserver.log")), "the API server starts", 60)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=90)
    assert rest == "interrupted: the control plane is stopped, no process is left\n"
    assert process.returncode == 130
    assert processes_of(tmp_path) == []

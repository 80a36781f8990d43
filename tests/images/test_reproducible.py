"""The same tree gives the same image, whoever builds it, where and when."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

from controlplane.toolbox import Toolbox
from images import builds

if TYPE_CHECKING:
    from pathlib import Path

YEARS = 3 * 365 * 24 * 3600


def _digest(archive: Path) -> str:
    crane = Toolbox.ready()["crane"]
    done = subprocess.run(
        [crane, "digest", "--tarball", str(archive)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _age(tree: Path) -> None:
    """Give every file another time and other rights, as a clone under another umask has."""
    for path in (tree, *tree.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (YEARS, YEARS))


def test_two_clones_give_one_digest(built: Path, name: str, tmp_path: Path) -> None:
    """Two clones in two folders, built at two times, under other rights, time zone and hash seed."""
    tree = builds.clone(tmp_path / "another place" / "clone")
    _age(tree)
    env = {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "12345"}
    again = builds.build(tree, name, tmp_path / "output", **env)
    first = built / f"{name}.tar"
    assert again.stat().st_mtime > first.stat().st_mtime, "the second build is a later one"
    assert _digest(again) == _digest(first)
    assert _sha256(again) == _sha256(first)
    bills = [folder / f"{name}.cdx.json" for folder in (built, tmp_path / "output")]
    assert _sha256(bills[0]) == _sha256(bills[1])


def test_a_change_of_the_program_changes_only_its_layer(built: Path, tmp_path: Path) -> None:
    """A new version of the function is one small layer on top of those that a registry already has."""
    tree = builds.clone(tmp_path / "clone")
    with (tree / "function" / "fn.py").open("a") as file:
        file.write("# changed\n")
    name = "function-inference-cluster"
    again = builds.build(tree, name, tmp_path / "output")
    old, new = _layers(built / f"{name}.tar"), _layers(again)
    assert old[:-1] == new[:-1]
    assert old[-1] != new[-1]


def _layers(archive: Path) -> list[str]:
    done = subprocess.run(["tar", "-tf", str(archive)], capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split() if name.endswith(".tar.gz")]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

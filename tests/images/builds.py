"""Builds an image from a copy of the tree, as another user on another day would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from controlplane.toolbox import Toolbox
from package.images import table
from package.images.sources import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_NEEDED = ("function", "operator", "package", "pyproject.toml", "LICENSE")


def clone(target: Path, *more: str) -> Path:
    """Copy what images are built from, and more; every file gets the time of this moment."""
    target.mkdir(parents=True)
    for name in (*_NEEDED, *more):
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, target / name, ignore=ignored, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(ROOT / name, target / name)
    return target


def build(tree: Path, name: str, output: Path, **env: str) -> Path:
    """Build an image of the tree in a process of its own; returns the archive."""
    programs = table.image(name).programs
    tools = Toolbox.ready() if programs else None
    flags = [f"--program={program}={tools[program]}" for program in programs] if tools else []
    command = [sys.executable, "-m", "package.images", "build", name, "--output", str(output), *flags]
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, **env}, capture_output=True, text=True, check=False, umask=0o022
    )
    assert done.returncode == 0, done.stderr
    return output / f"{name}.tar"

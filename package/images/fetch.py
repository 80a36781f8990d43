"""Downloads what the locks name into a cache, by each registry's own client; the hashes decide."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from package.images import table
from package.images.errors import ImageError

LOCK = Path(__file__).parent / "debian.lock.json"
# apt's own downloader. It knows the machine's proxies, and needs neither package lists nor rights.
APT_HELPER = Path("/usr/lib/apt/apt-helper")
_PLATFORMS = tuple(f"manylinux{version}_x86_64" for version in ("2014", "_2_17", "_2_28", "_2_34"))
_TAIL = 3


class Locked(NamedTuple):
    """A pinned Debian package: its name, its path on the mirror and its content's SHA-256."""

    name: str
    path: str
    sha256: str


def cache() -> Path:
    """Return the folder of downloads; XDG_CACHE_HOME moves it."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "function-inference-cluster" / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def locked() -> list[Locked]:
    """Return the pinned Debian packages."""
    return [Locked(**entry) for entry in json.loads(LOCK.read_text())["packages"]]


def deb(package: Locked) -> bytes:
    """Return a package's content, downloaded unless the cache has it."""
    stored = cache() / f"{package.sha256}.deb"
    if not stored.exists():
        _download(package, stored)
    content = stored.read_bytes()
    if hashlib.sha256(content).hexdigest() != package.sha256:
        stored.unlink()
        raise ImageError(f"{stored} was damaged and has been removed: run again")
    return content


def _download(package: Locked, stored: Path) -> None:
    if not APT_HELPER.exists():
        raise ImageError(
            "Debian's packages are fetched with apt, which is not here: build on Debian or Ubuntu, or with a "
            "container engine from package/images/Dockerfile"
        )
    url = f"{table.MIRROR}/{package.path}"
    with tempfile.TemporaryDirectory(dir=stored.parent) as folder:
        half = Path(folder) / "half"
        options = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
        command = [str(APT_HELPER), *options, "download-file", url, str(half), f"SHA256:{package.sha256}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not half.exists():
            raise ImageError(_gone(package, done.stderr))
        half.replace(stored)


def _gone(package: Locked, said: str) -> str:
    tail = " ".join(said.split("\n")[-_TAIL:]).strip()
    return (
        f"cannot download {package.path}: if the mirror no longer has this version, `make lock-images` pins "
        f"the one that it has now ({tail})"
    )


def wheels(requirements: Path) -> list[bytes]:
    """Return the wheels of a lock file for the image's interpreter, downloaded unless the cache has them."""
    key = hashlib.sha256(requirements.read_bytes() + repr(_PLATFORMS).encode()).hexdigest()[:16]
    stored = cache() / f"wheels-{key}"
    if not stored.exists():
        with tempfile.TemporaryDirectory(dir=stored.parent) as folder:
            _pip_download(requirements, Path(folder) / "wheels")
            # Another build may have been faster: its wheels have the same hashes.
            if not stored.exists():
                shutil.move(Path(folder) / "wheels", stored)
    return [path.read_bytes() for path in sorted(stored.glob("*.whl"))]


def _pip_download(requirements: Path, folder: Path) -> None:
    target = ["--python-version=3.11", "--implementation=cp", "--abi=cp311", "--abi=abi3", "--abi=none"]
    target += [f"--platform={name}" for name in _PLATFORMS]
    checked = ["--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(requirements)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, *target, *checked, f"--dest={folder}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        tail = "\n".join(done.stderr.strip().splitlines()[-_TAIL:])
        raise ImageError(f"the wheels of {requirements} cannot be downloaded:\n{tail}")

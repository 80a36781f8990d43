"""Pins the Debian packages at the versions that the mirror has now: `python -m package.images lock`.

apt resolves them in a folder of its own and checks Debian's signatures; the machine's own apt is left alone.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlparse

from package.images import table
from package.images.errors import ImageError
from package.images.fetch import LOCK

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_LINE = re.compile(r"'(?P<url>\S+)' (?P<file>\S+) \d+ SHA256:(?P<sha256>[0-9a-f]{64})")


def lock() -> None:
    """Write the lock file."""
    if not _KEYRING.exists():
        raise ImageError(f"{_KEYRING} is not here: install debian-archive-keyring, or pin on Debian")
    with tempfile.TemporaryDirectory() as folder:
        options = _prepare(Path(folder))
        _apt(options, "update", "-qq")
        printed = _apt(options, "download", "-qq", "--print-uris", *table.debian_packages())
    packages = parse(printed)
    LOCK.write_text(json.dumps({"release": table.RELEASE, "packages": packages}, indent=1) + "\n")


def parse(printed: str) -> list[dict[str, str]]:
    """Return name, path on the mirror and hash of each package that `apt-get download --print-uris` names."""
    found = [
        {
            "name": match["file"].split("_")[0],
            "path": urlparse(match["url"]).path.lstrip("/"),
            "sha256": match["sha256"],
        }
        for match in _LINE.finditer(printed)
    ]
    missing = set(table.debian_packages()) - {package["name"] for package in found}
    if missing:
        raise ImageError(f"the mirror has no {', '.join(sorted(missing))} for {table.RELEASE}")
    return sorted(found, key=lambda package: package["name"])


def _prepare(folder: Path) -> list[str]:
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    sources = "".join(
        f"deb [signed-by={_KEYRING}] {table.MIRROR}/{archive} {suite} main\n"
        for archive, suite in table.SUITES
    )
    (folder / "sources.list").write_text(sources)
    settings = {
        "Dir::State": folder,
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "APT::Architecture": table.PLATFORM["architecture"],
        "APT::Sandbox::User": "root",
    }
    return [text for name, value in settings.items() for text in ("-o", f"{name}={value}")]


def _apt(options: list[str], *arguments: str) -> str:
    done = subprocess.run(["apt-get", *options, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError(f"`apt-get {arguments[0]}` failed: {done.stderr.strip()}")
    return done.stdout

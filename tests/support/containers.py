"""Runs a container image on this machine without a container engine, as the kubelet would have it run.

The image's layers are unpacked and checked against the digests of its configuration; its program then runs in
that file tree alone: as the image's user, with its environment, without capabilities, the tree read-only.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from controlplane.errors import ControlPlaneError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# A runtime makes these in every container.
_MOUNT_POINTS = ("dev", "proc", "tmp")
_SCRIPT = """set -e
root=$1; count=$2; shift 2
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
while [ "$count" -gt 0 ]; do mount --bind "$1" "$root$2"; count=$((count - 1)); shift 2; done
mount -o remount,bind,ro "$root"
exec "$@"
"""


@dataclass(frozen=True)
class Container:
    """An unpacked image: the folder of its file tree, and its configuration."""

    root: Path
    config: dict[str, Any]

    @classmethod
    def unpack(cls, archive: Path, root: Path) -> Self:
        """Unpack an archive (also a package with an image in it) unless the folder is there already.

        ControlPlaneError when a layer is not the one whose digest the image names.
        """
        with tarfile.open(archive) as image:
            (head,) = json.loads(_member(image, "manifest.json"))
            config = json.loads(_member(image, head["Config"]))
            layers = zip(head["Layers"], config["rootfs"]["diff_ids"], strict=True)
            if not root.exists():
                half = root.with_name(f"{root.name}.half")
                for name, expected in layers:
                    _unpack_layer(_unzipped(_member(image, name)), expected, half)
                for name in _MOUNT_POINTS:
                    (half / name).mkdir(exist_ok=True)
                half.rename(root)
        return cls(root, config["config"])

    @property
    def user(self) -> str:
        """The number of the user whom the program runs as."""
        return str(self.config["User"]).partition(":")[0]

    @property
    def group(self) -> str:
        """The number of that user's group."""
        return str(self.config["User"]).partition(":")[2]

    def command(
        self,
        arguments: Sequence[str] = (),
        *,
        entrypoint: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        mounts: Mapping[Path, str] | None = None,
    ) -> list[str]:
        """Return the argv that runs the image's program, or another of its programs, in the image.

        `mounts` maps folders of this machine to absolute paths inside.
        """
        mounts = mounts or {}
        for path in mounts.values():
            (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        pairs = [text for source, path in mounts.items() for text in (str(source), path)]
        # In a user namespace of its own the program has the image's user without this machine needing one.
        user = ["--user", f"--map-user={self.user}", f"--map-group={self.group}"]
        inside = [_unshare(), *user, f"--root={self.root}", f"--wd={self.config['WorkingDir']}", "--"]
        variables = [*self.config["Env"], *(f"{name}={value}" for name, value in (env or {}).items())]
        program = [*(entrypoint or self.config["Entrypoint"]), *arguments]
        outside = ["sh", "-c", _SCRIPT, "sh", str(self.root), str(len(mounts)), *pairs]
        return [*_namespaces(), *outside, "env", "-i", *variables, *inside, *program]


def _namespaces() -> list[str]:
    extra = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [_unshare(), *extra, "--mount", "--"]


def _unshare() -> str:
    found = shutil.which("unshare")
    if not found:
        raise ControlPlaneError("an image runs here in namespaces: install util-linux's `unshare`")
    return found


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    found = archive.extractfile(name)
    if found is None:
        raise ControlPlaneError(f"the image archive has no file {name}")
    return found.read()


def _unzipped(layer: bytes) -> bytes:
    return gzip.decompress(layer) if layer.startswith(b"\x1f\x8b") else layer


def _unpack_layer(content: bytes, expected: str, root: Path) -> None:
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != expected:
        raise ControlPlaneError(f"a layer is not the one whose digest the image names: {expected}")
    with tarfile.open(fileobj=io.BytesIO(content)) as layer:
        # Python 3.11.2, Debian's, knows no filters yet, and 3.14 would by default take rights away.
        layer.extraction_filter = getattr(tarfile, "tar_filter", None)
        layer.extractall(root)  # noqa: S202 -- its digest is that of an image of ours

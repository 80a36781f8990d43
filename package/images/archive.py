"""Renders an image as bytes: layers as tar files, a configuration, the archive that `docker load` takes."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from package.images import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from package.images.compose import Layer
    from package.images.table import Image
    from package.images.tree import Entry, Tree

_EPOCH = "1970-01-01T00:00:00Z"
_TYPES = {"file": tarfile.REGTYPE, "folder": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}
_LEVEL = 6  # 9 takes three times as long for one percent
_GZIP = 31  # zlib's number for a gzip frame, which then names neither a file nor a time


@dataclass(frozen=True)
class Blob:
    """A layer as it is stored (compressed), and the digest of what it unpacks to."""

    title: str
    content: bytes
    diff_id: str


def blob(layer: Layer) -> Blob:
    """Return a layer as it is stored."""
    unpacked = tar(layer.tree)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    content = packer.compress(unpacked) + packer.flush()
    return Blob(layer.title, content, f"sha256:{_sha256(unpacked)}")


def tar(tree: Tree) -> bytes:
    """Return a tar file of these entries in this order: all of root's, all of one time."""
    return _tar((_header(entry), entry.data) for entry in tree.values())


def _tar(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for header, data in members:
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return out.getvalue()


def _header(entry: Entry) -> tarfile.TarInfo:
    header = tarfile.TarInfo(entry.path)
    header.type, header.mode, header.linkname = _TYPES[entry.kind], entry.mode, entry.target
    return header


def configuration(image: Image, version: str, blobs: Iterable[Blob]) -> dict[str, Any]:
    """Return the image's configuration."""
    blobs = list(blobs)
    return {
        **table.PLATFORM,
        "created": _EPOCH,
        "config": {
            "User": f"{table.USER}:{table.USER}",
            "Env": [f"{name}={value}" for name, value in sorted(table.ENVIRONMENT.items())],
            "Entrypoint": list(image.entrypoint),
            "WorkingDir": "/",
            "ExposedPorts": {f"{port}/tcp": {} for port in image.ports},
            "Labels": {
                "org.opencontainers.image.title": image.name,
                "org.opencontainers.image.description": image.title,
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in blobs]},
        "history": [{"created": _EPOCH, "created_by": layer.title} for layer in blobs],
    }


def archive(image: Image, version: str, layers: Iterable[Layer]) -> bytes:
    """Return the image as one file, as docker, podman, crane and `crossplane xpkg build` read it."""
    blobs = [blob(layer) for layer in layers]
    config = _json(configuration(image, version, blobs))
    names = [f"{_sha256(stored.content)}.tar.gz" for stored in blobs]
    head = {"Config": f"{_sha256(config)}.json", "RepoTags": [f"{image.name}:{version}"], "Layers": names}
    files = {f"{_sha256(config)}.json": config}
    files |= dict(zip(names, (stored.content for stored in blobs), strict=True))
    return _tar(_members({**files, "manifest.json": _json([head])}))


def _members(files: dict[str, bytes]) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    for name, content in files.items():
        header = tarfile.TarInfo(name)
        header.mode = 0o644
        yield header, content


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

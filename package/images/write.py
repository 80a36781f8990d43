"""Builds an image: reads what the table and the locks name, and writes the results."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from package.images import archive, deb, fetch, sources, table, tree, wheel
from package.images.compose import Composed, Inputs, compose
from package.images.errors import ImageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from package.images.table import Image


class Built(NamedTuple):
    """What was written: the image as one archive, and its bill of materials."""

    archive: Path
    bill: Path


def build(name: str, folder: Path, programs: Mapping[str, Path]) -> Built:
    """Build the image of that name into the folder; ImageError says what is missing."""
    image = table.image(name)
    composed, version = _composed(image, programs)
    built = Built(folder / f"{name}.tar", folder / f"{name}.cdx.json")
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in zip(
        built, (archive.archive(image, version, composed.layers), composed.bill), strict=True
    ):
        # Written beside it first: a build that is cut off leaves no half file under the name.
        half = path.with_suffix(".half")
        half.write_bytes(content)
        half.replace(path)
    return built


def root(name: str, file: Path, programs: Mapping[str, Path]) -> None:
    """Write the image's file tree as one tar file, for the Dockerfile."""
    composed, _ = _composed(table.image(name), programs)
    entries = [entry for layer in composed.layers for entry in layer.tree.values()]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(archive.tar(tree.merged(entries)))


def _composed(image: Image, programs: Mapping[str, Path]) -> tuple[Composed, str]:
    version = sources.version(sources.ROOT)
    debs = [deb.read(fetch.deb(package)) for package in fetch.locked()]
    wheels = [wheel.read(content) for content in fetch.wheels(sources.ROOT / image.requirements)]
    own = sources.own(sources.ROOT, image.sources)
    inputs = Inputs(tuple(debs), tuple(wheels), tuple(own), _read(image, programs), version)
    return compose(image, inputs), version


def _read(image: Image, programs: Mapping[str, Path]) -> dict[str, bytes]:
    missing = [name for name in image.programs if name not in programs]
    if missing:
        raise ImageError(f"{image.name} carries {missing[0]}: give it with --program {missing[0]}=PATH")
    found = {}
    for name in image.programs:
        found[name], remark = sources.program(name, programs[name])
        if remark:
            sys.stderr.write(f"{remark}\n")
    return found

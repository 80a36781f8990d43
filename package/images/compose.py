"""Decides what an image consists of: its parts, in layers from what changes least to what changes most."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from package.images import buildinfo, sbom, table, tree
from package.images.sbom import Component
from package.images.tree import Entry, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from package.images.deb import Deb
    from package.images.table import Image
    from package.images.wheel import Wheel

_AUTHORITIES = "usr/share/ca-certificates/mozilla/"
_BUNDLE = "etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True)
class Inputs:
    """All that goes into an image, read and checked: packages, wheels, the product's own files, programs."""

    debs: tuple[Deb, ...]
    wheels: tuple[Wheel, ...]
    sources: tuple[Entry, ...]
    programs: Mapping[str, bytes]
    version: str


@dataclass(frozen=True)
class Layer:
    """One layer: what it is, and its file tree."""

    title: str
    tree: Tree


@dataclass(frozen=True)
class Composed:
    """The layers of an image, the lowest first, and the bill of materials that the last of them carries."""

    layers: tuple[Layer, ...]
    bill: bytes


def compose(image: Image, inputs: Inputs) -> Composed:
    """Return what the image consists of; ImageError when two parts do not fit together."""
    bill = sbom.render(image, inputs.version, components(image, inputs))
    debs = {deb.name: deb for deb in inputs.debs}
    own = [_below(table.APP, entry) for entry in inputs.sources]
    layers = [
        _layer("Debian's Python and libraries", [*_system(), *_packages(debs, table.INTERPRETER)]),
        _layer("tools and certificate authorities", _extra(image, debs)),
        _layer("Python packages", _installed(inputs.wheels)),
        _layer("programs", [_program(name, inputs.programs[name]) for name in image.programs]),
        _layer(image.title, [*own, tree.text(f"usr/share/sbom/{image.name}.cdx.json", bill.decode())]),
    ]
    return Composed(tuple(layer for layer in layers if layer.tree), bill)


def _layer(title: str, entries: Iterable[Entry]) -> Layer:
    return Layer(title, tree.with_parents(tree.merged(entries)))


def _below(folder: str, entry: Entry) -> Entry:
    return Entry(f"{folder}/{entry.path}", entry.kind, entry.mode, entry.data, entry.target)


def _system() -> list[Entry]:
    """Return what Debian's installer would have made: links into /usr, users, a temporary folder."""
    user = table.USER
    return [
        *(tree.link(name, f"usr/{name}") for name in tree.MERGED_LINKS),
        tree.link("usr/bin/python", "python3.11"),
        tree.link("usr/bin/python3", "python3.11"),
        tree.folder("tmp", 0o1777),
        tree.text(
            "etc/passwd",
            f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{user}:{user}::/tmp:/sbin/nologin\n",
        ),
        tree.text("etc/group", f"root:x:0:\nnonroot:x:{user}:\n"),
        tree.text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ]


def _packages(debs: Mapping[str, Deb], names: Iterable[str]) -> list[Entry]:
    found = [debs[name] for name in names]
    files = [tree.without(deb.entries, table.LEFT_OUT, table.KEPT) for deb in found]
    return [*(entry for part in files for entry in part), *map(_record, found)]


def _record(deb: Deb) -> Entry:
    """Return a package's entry where scanners look for the packages of an image without dpkg."""
    return tree.text(f"var/lib/dpkg/status.d/{deb.name}", deb.control)


def _extra(image: Image, debs: Mapping[str, Deb]) -> list[Entry]:
    entries = _authorities(debs[table.AUTHORITIES]) if image.certificates else []
    for name, pattern in image.tools:
        licences = f"usr/share/doc/{name}/copyright"
        entries += [e for e in debs[name].entries if tree.matches(e.path, (pattern, licences))]
        entries.append(_record(debs[name]))
    return entries


def _authorities(deb: Deb) -> list[Entry]:
    """Return all authorities in one file, as update-ca-certificates would write it on installation."""
    found = sorted((e.path, e.data) for e in deb.entries if e.path.startswith(_AUTHORITIES) and e.data)
    bundle = b"".join(data.rstrip(b"\n") + b"\n" for _, data in found)
    licence = [e for e in deb.entries if e.path.endswith("/copyright")]
    return [Entry(_BUNDLE, data=bundle), *licence, _record(deb)]


def _installed(wheels: Iterable[Wheel]) -> list[Entry]:
    entries = [_below(table.SITE, entry) for wheel in wheels for entry in wheel.entries]
    return tree.without(entries, table.LEFT_OUT, table.KEPT)


def _program(name: str, content: bytes) -> Entry:
    return Entry(f"usr/local/bin/{name}", mode=0o755, data=content)


def components(image: Image, inputs: Inputs) -> list[Component]:
    """Return the parts of the image: Debian packages, Python packages, programs and the modules in them."""
    debs = [deb for deb in inputs.debs if deb.name in table.packages(image)]
    found = [Component.debian(deb.name, deb.version, deb.fields["Architecture"]) for deb in debs]
    found += [Component.pypi(wheel.name, wheel.version, wheel.licence) for wheel in inputs.wheels]
    for name in image.programs:
        content = inputs.programs[name]
        info = buildinfo.read(content)
        found.append(Component.program(name, info.go, hashlib.sha256(content).hexdigest()))
        found += [Component.golang(module.path, module.version) for module in info.modules]
    return found

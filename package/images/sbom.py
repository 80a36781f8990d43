"""Renders a bill of materials in CycloneDX's JSON, from what an image really consists of."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from package.images.table import Image

_SPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # the namespace of URLs


@dataclass(frozen=True, order=True)
class Component:
    """One part of an image; `purl` identifies it everywhere, `licence` is an SPDX expression or empty."""

    purl: str
    kind: str
    name: str
    version: str
    licence: str = ""
    sha256: str = ""

    @classmethod
    def debian(cls, name: str, version: str, architecture: str) -> Self:
        """Return a Debian package."""
        purl = f"pkg:deb/debian/{name}@{_quoted(version)}?arch={architecture}&distro=debian-12"
        return cls(purl, "library", name, version)

    @classmethod
    def pypi(cls, name: str, version: str, licence: str) -> Self:
        """Return a Python distribution."""
        return cls(f"pkg:pypi/{name.lower().replace('_', '-')}@{version}", "library", name, version, licence)

    @classmethod
    def golang(cls, path: str, version: str) -> Self:
        """Return a Go module."""
        return cls(f"pkg:golang/{path.lower()}@{_quoted(version)}", "library", path, version)

    @classmethod
    def program(cls, name: str, go: str, sha256: str) -> Self:
        """Return a program, told apart by its content, and by the version of Go that built it."""
        return cls(f"pkg:generic/{name}?checksum=sha256:{sha256}", "application", name, go, "", sha256)

    def document(self) -> dict[str, Any]:
        """Return the component as CycloneDX writes it."""
        head = {"type": self.kind, "bom-ref": self.purl, "name": self.name, "version": self.version}
        licences = {"licenses": [{"expression": self.licence}]} if self.licence else {}
        hashes = {"hashes": [{"alg": "SHA-256", "content": self.sha256}]} if self.sha256 else {}
        return {**head, **hashes, **licences, "purl": self.purl}


def _quoted(version: str) -> str:
    return quote(version, safe="")


def render(image: Image, version: str, components: Iterable[Component]) -> bytes:
    """Return the bill of materials; equal for equal parts, so it has neither a time nor a random number."""
    parts = [component.document() for component in sorted(set(components))]
    body = {
        "metadata": {
            "component": {
                "type": "container",
                "bom-ref": image.name,
                "name": image.name,
                "version": version,
                "description": image.title,
            }
        },
        "components": parts,
        "dependencies": [{"ref": image.name, "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    serial = uuid.uuid5(_SPACE, json.dumps(body, sort_keys=True))
    head = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
    }
    return json.dumps({**head, **body}, indent=1).encode() + b"\n"

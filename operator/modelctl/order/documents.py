"""Reads manifests from files, folders and stdin."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from modelctl.exits import CommandError, Exit

Manifest = dict[str, Any]
COMPOSITES = ("InferenceCluster", "ServingStack")


def read(paths: Iterable[str]) -> list[Manifest]:
    """Return the documents of all files; a folder stands for its YAML files, `-` for stdin."""
    return [document for path in paths for text in _texts(path) for document in _documents(path, text)]


def composite(documents: Iterable[Manifest]) -> Manifest:
    """Return the one composite among them, an InferenceCluster before a ServingStack; CommandError else."""
    for kind in COMPOSITES:
        found = [document for document in documents if document["kind"] == kind]
        if len(found) > 1:
            raise CommandError(Exit.USAGE, f"there are {len(found)} of kind {kind}: give one at a time")
        if found:
            return found[0]
    raise CommandError(Exit.USAGE, f"there is no {' and no '.join(COMPOSITES)} in what -f names")


def settings(documents: Iterable[Manifest], of: Manifest) -> Manifest:
    """Return the input that the composite's Composition gives the function, empty where none is given."""
    wanted = of.get("spec", {}).get("crossplane", {}).get("compositionRef", {}).get("name")
    for document in documents:
        spec = document.get("spec") or {}
        matches = (
            document["kind"] == "Composition" and spec.get("compositeTypeRef", {}).get("kind") == of["kind"]
        )
        if matches and wanted in (None, document["metadata"]["name"]):
            inputs = (step.get("input") or {} for step in spec.get("pipeline", []))
            return next((given for given in inputs if given.get("kind") == "Settings"), {})
    return {}


def _texts(path: str) -> list[str]:
    if path == "-":
        return [sys.stdin.read()]
    place = Path(path)
    try:
        files = sorted(place.glob("*.yaml")) if place.is_dir() else [place]
        return [file.read_text("utf-8") for file in files]
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(Exit.USAGE, f"-f {path}: {error}") from None


def _documents(path: str, text: str) -> list[Manifest]:
    try:
        found = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise CommandError(Exit.USAGE, f"-f {path} is not YAML: {error}") from None
    for document in found:
        if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
            raise CommandError(Exit.USAGE, f"-f {path}: a document has no apiVersion or kind")
    return found

"""Reads the package's YAML and checks values against the OpenAPI schemas in it, without a cluster.

Only the keywords that the XRDs use are known; CEL rules need an API server and are checked there.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "package"
CONFIGURATION = PACKAGE / "configuration"
STANDINS = ROOT / "tests" / "e2e" / "standins"
SETTINGS = PACKAGE / "function" / "input" / "inference.modelplane.ai_settings.yaml"
CLOUDS = ("GKE", "EKS", "AKS", "Nebius", "Vultr")
DEFINITIONS = {
    "InferenceCluster": CONFIGURATION / "apis" / "inferenceclusters" / "definition.yaml",
    "ServingStack": CONFIGURATION / "apis" / "servingstacks" / "definition.yaml",
    **{f"{cloud}Cluster": STANDINS / f"{cloud.lower()}cluster.yaml" for cloud in CLOUDS},
    "ModelReplica": STANDINS / "modelreplica.yaml",
    "InferenceClass": STANDINS / "inferenceclass.yaml",
    "Settings": SETTINGS,
}

Schema = dict[str, Any]
PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
}


def documents(path: Path) -> list[dict[str, Any]]:
    """Give the YAML documents of one file."""
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def schema_of(kind: str) -> Schema:
    """Give the schema of the only version of a kind, from its XRD or CRD."""
    (version,) = documents(DEFINITIONS[kind])[0]["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Walk a schema: (path, node) of each field, `[]` for an item of a list and `{}` for a value of a map."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def problems(value: object, schema: Schema, path: str = "") -> list[str]:
    """Say what is wrong with a value; an empty list means that the schema takes it."""
    expected = PYTHON_TYPES[schema["type"]]
    if not isinstance(value, expected) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return [f"{path}: not of type {schema['type']}"]
    found = [f"{path}: {why}" for why in _limits(value, schema)]
    if isinstance(value, dict):
        found += _object_problems(value, schema, path)
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += problems(item, schema["items"], f"{path}[{index}]")
    return found


def _object_problems(value: dict[str, object], schema: Schema, path: str) -> list[str]:
    found = [f"{path}.{name}: missing" for name in schema.get("required", []) if name not in value]
    known = schema.get("properties", {})
    for name, item in value.items():
        if name in known:
            found += problems(item, known[name], f"{path}.{name}")
        elif "additionalProperties" in schema:
            found += problems(item, schema["additionalProperties"], f"{path}.{name}")
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            found.append(f"{path}.{name}: unknown field")
    return found


def _limits(value: object, schema: Schema) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{value!r} is not one of {schema['enum']}"
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{value!r} is too long or too short"
        if not re.search(schema.get("pattern", ""), value):
            yield f"{value!r} does not match {schema['pattern']}"
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{value} is out of range"
    if isinstance(value, list) and not schema.get("minItems", 0) <= len(value) <= schema.get(
        "maxItems", 10**9
    ):
        yield f"{len(value)} items are too many or too few"

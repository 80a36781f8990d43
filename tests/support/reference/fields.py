"""The fields of a kind, from its OpenAPI schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llm_operator.teardown.crd import crd
from project.schemas import nodes, schema_of
from support.reference.markdown import code, codes, table

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = dict[str, Any]
_KUBERNETES = ("", "apiVersion", "kind", "metadata")
_FREE = "x-kubernetes-preserve-unknown-fields"


def schema(kind: str) -> Schema:
    """Return the schema of one of our kinds."""
    if kind != "LLMService":
        return schema_of(kind)
    (version,) = crd()["spec"]["versions"]
    found: Schema = version["schema"]["openAPIV3Schema"]
    return found


def written(kind: str) -> str:
    """Write the fields of a kind as a table."""
    return table(("field", "type", "default", "what it says"), rows(schema(kind)))


def rows(whole: Schema) -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each field; items that are no objects are told with their list."""
    needed = set(_required(whole))
    for path, node in nodes(whole):
        if path in _KUBERNETES or (path.endswith(("[]", "{}")) and not _own(node)):
            continue
        default = code(json.dumps(node["default"])) if "default" in node else ""
        yield code(path), _type(node) + (", required" if path in needed else ""), default, _says(node)


def _own(item: Schema) -> bool:
    """Whether an item says more than its list does."""
    return "properties" in item and "description" in item


def _required(whole: Schema) -> Iterator[str]:
    for path, node in nodes(whole):
        yield from (f"{path}.{name}" if path else name for name in node.get("required", ()))


def _type(node: Schema) -> str:
    if "items" in node:
        return f"list of {_type(node['items'])}"
    if "additionalProperties" in node:
        return f"map of {_type(node['additionalProperties'])}"
    named: str = node["type"]
    return "anything" if node.get(_FREE) else named


def _says(node: Schema) -> str:
    parts = [node.get("description", ""), _limits(node)]
    if "enum" in node:
        parts.append(f"One of {codes(node['enum'])}.")
    parts += [_sentence(rule["message"]) for rule in node.get("x-kubernetes-validations", ())]
    return " ".join(part for part in parts if part)


def _limits(node: Schema) -> str:
    """Say how many or how much; lengths of texts are left to the schema."""
    least = node.get("minimum", node.get("minItems"))
    most = node.get("maximum", node.get("maxItems", node.get("maxProperties")))
    words = [f"at least {least}"] * (least is not None) + [f"at most {most}"] * (most is not None)
    return _sentence(" and ".join(words)) if words else ""


def _sentence(text: str) -> str:
    """Make a sentence of a message, which may begin with a field's name."""
    first = text.split(maxsplit=1)[0]
    return (text[0].upper() + text[1:] if first.isalpha() and first.islower() else text).rstrip(".") + "."

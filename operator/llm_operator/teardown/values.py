"""The values of a release.

`spec.valuesFrom` in its order, then `spec.values`, as the files that helm gets.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import orjson
import yaml

from llm_operator.kube import ApiError, Kube
from llm_operator.resources import CONFIGMAPS, SECRETS, Ref
from llm_operator.teardown.spec import Service

DEFAULT_KEY = "values.yaml"
SHORTEST_SECRET = 4
"""Characters: shorter texts are not taken out of helm's messages, they would tear every word apart."""
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ValuesError(Exception):
    """Values cannot be had: what is missing, and where."""


async def read_values(kube: Kube, service: Service) -> tuple[tuple[bytes, ...], tuple[str, ...]]:
    """Return the values documents in order of precedence, and the texts in them that came from Secrets.

    Raises ValuesError for a missing source that is not optional, ApiError for a server that does not answer.
    """
    documents: list[bytes] = []
    secrets: list[str] = []
    for source in service.spec.get("valuesFrom") or []:
        document = await _read(kube, service.namespace, source)
        if document is None:
            continue
        documents.append(document)
        if source["kind"] == "Secret":
            secrets += _texts(_parsed(document, source))
    documents.append(orjson.dumps(service.spec.get("values") or {}))
    return tuple(documents), tuple(secrets)


async def _read(kube: Kube, namespace: str, source: Mapping[str, Any]) -> bytes | None:
    resource = SECRETS if source["kind"] == "Secret" else CONFIGMAPS
    key = source.get("key") or DEFAULT_KEY
    try:
        data = (await kube.get(Ref(resource, namespace, source["name"]))).get("data") or {}
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        data = {}
    if key in data:
        return _decoded(data[key], source) if resource is SECRETS else str(data[key]).encode()
    if source.get("optional"):
        return None
    raise ValuesError(
        f"valuesFrom: {source['kind']} {source['name']} has no key {key}: create it, or set optional"
    )


def _decoded(text: str, source: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValuesError(f"valuesFrom: Secret {source['name']} cannot be decoded") from error


def _parsed(document: bytes, source: Mapping[str, Any]) -> object:
    try:
        parsed: object = yaml.load(document, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError:
        raise ValuesError(f"valuesFrom: Secret {source['name']} holds no YAML") from None
    return parsed


def _texts(value: object) -> Iterator[str]:
    """Yield every scalar of a document, keys not: what must not show up in a message."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None and len(str(value)) >= SHORTEST_SECRET:
        yield str(value)

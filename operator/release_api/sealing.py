"""Fetches the key of the seal from its Secret, or makes it: all replicas share one, and it outlives them."""

import base64
import secrets
from http import HTTPStatus

from llm_operator.kube import ApiError, Kube
from llm_operator.resources import SECRETS, Obj, Ref
from release_api.seal import Seal

NAME = "release-api-seal"
_KEY = "key"
_BYTES = 32


async def fetch(kube: Kube, namespace: str) -> Seal:
    """Return the seal. Raises ApiError."""
    for _ in range(2):
        try:
            found = await kube.get(Ref(SECRETS, namespace, NAME))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        else:
            return _seal(found)
        try:
            return _seal(await kube.create(SECRETS, _fresh(namespace)))
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise  # Another replica was first: its key is read in the second round.
    raise ApiError(0, f"Secret {NAME} in {namespace} comes and goes")


def _fresh(namespace: str) -> Obj:
    data = {_KEY: base64.b64encode(secrets.token_bytes(_BYTES)).decode()}
    meta = {"name": NAME, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta, "data": data}


def _seal(obj: Obj) -> Seal:
    key = base64.b64decode((obj.get("data") or {}).get(_KEY, ""))
    if len(key) < _BYTES:
        raise ApiError(0, f"Secret {NAME} holds no key of {_BYTES} bytes: delete it to have a new one made")
    return Seal(key)

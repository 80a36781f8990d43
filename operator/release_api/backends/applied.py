"""The values that are applied now, of either backend, as far as the caches know."""

from collections.abc import Mapping
from typing import Any

from llm_operator.records import values
from llm_operator.resources import SECRETS, Ref
from release_api.models import Backend
from release_api.names import Key
from release_api.tools import Tools


class Applied:
    """Reads values; a helm record once, so whoever asks every few seconds costs the API server nothing."""

    def __init__(self, tools: Tools) -> None:
        """Use the tools."""
        self._tools = tools
        self._read: dict[Key, tuple[tuple[str, str], Mapping[str, Any]]] = {}

    async def values(self, key: Key, backend: Backend) -> Mapping[str, Any] | None:
        """Return the values of a release, None without one. Raises ApiError, RecordError."""
        if backend is Backend.HELM:
            return await self._rendered(key)
        service = self._tools.state.services.get(key)
        return None if service is None else dict(service["spec"].get("values") or {})

    async def _rendered(self, key: Key) -> Mapping[str, Any] | None:
        """Return what helm's newest revision was rendered with."""
        found = self._tools.state.revision(key)
        if found is None:
            self._read.pop(key, None)
            return None
        mark = (found.secret, found.resource_version)
        if key not in self._read or self._read[key][0] != mark:
            record = await self._tools.kube.get(Ref(SECRETS, found.namespace, found.secret))
            self._read[key] = (mark, values(record))
        return self._read[key][1]

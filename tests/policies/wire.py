"""Raw requests to an API server as any user, and what it answered, warnings included."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import urllib3

if TYPE_CHECKING:
    from pathlib import Path

_PATCHES = {"PATCH": "application/merge-patch+json"}


@dataclass(frozen=True)
class User:
    """Who sends a request; no name stands for the administrator that owns the connection."""

    name: str = ""
    groups: tuple[str, ...] = ()


ADMIN = User()


@dataclass(frozen=True)
class Answer:
    """The status code, the decoded body and the warnings of one answer."""

    code: int
    body: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the request was carried out."""
        return self.code < 300

    @property
    def message(self) -> str:
        """What the server said about a refusal."""
        return str(self.body.get("message", ""))


class Wire:
    """An administrator's connection that can send every request as somebody else, by impersonation."""

    def __init__(self, server: str, ca: Path, token: str) -> None:
        """Talk to `server` with an administrator's token."""
        self._server = server
        self._token = token
        self._pool = urllib3.PoolManager(maxsize=8, ca_certs=str(ca))

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        query: dict[str, str] | None = None,
        user: User = ADMIN,
    ) -> Answer:
        """Send one request; a dict body of a PATCH is a merge patch."""
        headers = urllib3.HTTPHeaderDict(
            {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        )
        headers["Content-Type"] = _PATCHES.get(method, "application/json")
        if user.name:
            headers["Impersonate-User"] = user.name
            for group in user.groups:
                headers.add("Impersonate-Group", group)
        url = self._server + path + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body)
        response = self._pool.request(method, url, body=data, headers=headers, timeout=30)
        warnings = tuple(response.headers.getlist("Warning"))
        is_json = "json" in response.headers.get("Content-Type", "")
        body = json.loads(response.data) if is_json else {"message": response.data.decode()}
        return Answer(response.status, body, warnings)

    def must(
        self, method: str, path: str, body: object = None, query: dict[str, str] | None = None
    ) -> Answer:
        """Send a request as the administrator that has to succeed."""
        answer = self.send(method, path, body, query)
        assert answer.allowed, f"{method} {path}: {answer.code} {answer.message}"
        return answer

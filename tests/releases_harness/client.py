"""Calls the API as one caller."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import urllib3

from controlplane.kube import Object


class UnavailableError(AssertionError):
    """The server says that it cannot tell now, and when to ask again."""


@dataclass(frozen=True)
class Answer:
    """An answer: status, headers, and the body as JSON (text where it is none)."""

    status: int
    body: Any
    headers: Mapping[str, str]
    """Whatever their case."""

    @property
    def output(self) -> str:
        """What a change says, or a problem's detail."""
        return str(self.body.get("output", self.body.get("detail", "")))


@dataclass
class Client:
    """One caller of one server."""

    url: str
    token: str
    ca: Path | None = None
    timeout: float = 60.0
    pool: urllib3.PoolManager = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Trust the server's authority only."""
        ca = str(self.ca) if self.ca else None
        self.pool = urllib3.PoolManager(maxsize=32, ca_certs=ca, retries=False)

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Send one request."""
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        sent |= {"Content-Type": "application/json"} if body is not None else {}
        data = None if body is None else json.dumps(body)
        got = self.pool.request(
            method, self.url + path, body=data, headers={**sent, **headers}, timeout=self.timeout
        )
        text = got.data.decode()
        parsed = json.loads(text) if "json" in got.headers.get("Content-Type", "") else text
        return Answer(got.status, parsed, got.headers)

    def rows(self, namespace: str | None = None) -> list[Object]:
        """Return the listed rows, of one namespace or all."""
        answer = self.call("GET", "/api/deployments")
        if answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise UnavailableError(answer)
        assert answer.status == 200, answer
        return [row for row in answer.body["items"] if namespace in (None, row["namespace"])]

    def row(self, namespace: str, name: str) -> Object | None:
        """Return one listed row, None when the release is not listed."""
        return next((row for row in self.rows(namespace) if row["release"] == name), None)

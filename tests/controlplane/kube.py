"""A thin client for the Kubernetes API that speaks in plain dicts.

Used by tests, the demo and the installation of the control plane itself. Kinds are given as
`(apiVersion, kind)`; their paths come from the server's own discovery.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlencode

import orjson
import urllib3

from controlplane.errors import ControlPlaneError, WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Object = dict[str, Any]
_T = TypeVar("_T")
Propagation = Literal["Foreground", "Background", "Orphan"]
_RETRIES = urllib3.Retry(connect=5, read=0, redirect=0, backoff_factor=0.1)


class ApiError(ControlPlaneError):
    """The API server refused a request; `status` is the HTTP code, `reason` Kubernetes' word for it."""

    def __init__(self, method: str, path: str, status: int, body: bytes) -> None:
        """Take the request and the answer."""
        try:
            answer = json.loads(body)
        except ValueError:
            answer = {}
        self.status = status
        self.reason: str = answer.get("reason", "")
        self.message: str = answer.get("message", body.decode(errors="replace"))
        super().__init__(f"{method} {path}: {status} {self.reason}: {self.message}")


class Api:
    """One user's access to one API server."""

    def __init__(self, server: str, ca: Path, token: str) -> None:
        """Take the server's URL, its CA's file and the user's token."""
        self._server = server
        self._ca = ca
        self._pool = urllib3.PoolManager(maxsize=32, ca_certs=str(ca), retries=_RETRIES)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    def as_user(self, token: str) -> Api:
        """Return a client of the same server with another user's token."""
        return Api(self._server, self._ca, token)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
    ) -> Any:  # noqa: ANN401 -- whatever JSON the server answers
        """Send one request and return the decoded answer; ApiError for any status over 299."""
        headers = {**self._headers, "Content-Type": content_type}
        data = None if body is None else json.dumps(body)
        response = self._pool.request(method, self._server + path, body=data, headers=headers, timeout=60)
        if response.status > 299:
            raise ApiError(method, path, response.status, response.data)
        if "json" not in response.headers.get("Content-Type", ""):
            return response.data.decode()
        return json.loads(response.data)

    def resource(self, api_version: str, kind: str) -> tuple[str, bool]:
        """Return (plural, namespaced) of a kind from discovery; ControlPlaneError when it is not served."""
        if (api_version, kind) not in self._resources:
            for entry in self.request("GET", _root(api_version))["resources"]:
                if "/" not in entry["name"]:
                    self._resources[api_version, entry["kind"]] = entry["name"], entry["namespaced"]
        if (api_version, kind) not in self._resources:
            raise ControlPlaneError(f"the API server knows no kind {kind} in {api_version}")
        return self._resources[api_version, kind]

    def path(self, api_version: str, kind: str, name: str | None = None, namespace: str | None = None) -> str:
        """Return the URL path of an object, or of its collection when no name is given."""
        plural, namespaced = self.resource(api_version, kind)
        scope = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{_root(api_version)}{scope}/{plural}" + (f"/{name}" if name else "")

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        """Return one object; ApiError with status 404 when there is none."""
        answer: Object = self.request("GET", self.path(api_version, kind, name, namespace))
        return answer

    def find(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return one object or None."""
        try:
            return self.get(api_version, kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, api_version: str, kind: str, namespace: str | None = None, **query: str) -> list[Object]:
        """Return all objects of a kind; query parameters such as labelSelector as keywords."""
        answer = self.request("GET", self.path(api_version, kind, None, namespace) + _query(query))
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer["items"]]

    def create(self, obj: Object, **query: str) -> Object:
        """Create an object."""
        answer: Object = self.request("POST", self._collection(obj) + _query(query), obj)
        return answer

    def apply(self, obj: Object, manager: str = "controlplane", subresource: str = "") -> Object:
        """Apply an object (or its status, as a subresource) server-side, taking over conflicting fields."""
        path = (
            self._collection(obj) + f"/{obj['metadata']['name']}" + (f"/{subresource}" if subresource else "")
        )
        query = _query({"fieldManager": manager, "force": "true"})
        answer: Object = self.request("PATCH", path + query, obj, "application/apply-patch+yaml")
        return answer

    def patch(self, obj: Object, patch: object, subresource: str = "") -> Object:
        """Patch an object: a dict is a merge patch, a list a JSON patch."""
        path = (
            self._collection(obj) + f"/{obj['metadata']['name']}" + (f"/{subresource}" if subresource else "")
        )
        kind = "json-patch" if isinstance(patch, list) else "merge-patch"
        answer: Object = self.request("PATCH", path, patch, f"application/{kind}+json")
        return answer

    def delete(self, obj: Object, propagation: Propagation | None = None, *, dry_run: bool = False) -> Object:
        """Ask for an object's deletion, its uid as precondition where `obj` has one."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if propagation:
            options["propagationPolicy"] = propagation
        if "uid" in obj["metadata"]:
            options["preconditions"] = {"uid": obj["metadata"]["uid"]}
        if dry_run:
            options["dryRun"] = ["All"]
        answer: Object = self.request("DELETE", f"{self._collection(obj)}/{obj['metadata']['name']}", options)
        return answer

    def watch(
        self, api_version: str, kind: str, version: str, namespace: str | None = None, seconds: int = 30
    ) -> Iterator[tuple[str, Object]]:
        """Yield (event type, object) from a resource version on, for at most `seconds`.

        A bookmark is yielded as any event. ApiError with status 410 when the version is too old.
        """
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        path = self.path(api_version, kind, None, namespace) + _query(
            {**query, "allowWatchBookmarks": "true"}
        )
        response = self._pool.request(
            "GET", self._server + path, headers=self._headers, preload_content=False, timeout=seconds + 30
        )
        if response.status > 299:
            raise ApiError("WATCH", path, response.status, response.data)
        try:
            for line in _lines(response):
                event = orjson.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError("WATCH", path, event["object"].get("code", 500), line)
                yield event["type"], event["object"]
        finally:
            response.close()

    def _collection(self, obj: Object) -> str:
        return self.path(obj["apiVersion"], obj["kind"], None, obj["metadata"].get("namespace", "default"))


def wait_until(condition: Callable[[], _T], what: str, seconds: float = 30, pause: float = 0.1) -> _T:
    """Return the first truthy value of `condition`; WaitTimeoutError that names `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise WaitTimeoutError(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(pause)
    return value


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    while chunk := response.read1():
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _query(parameters: dict[str, str]) -> str:
    return f"?{urlencode(parameters)}" if parameters else ""

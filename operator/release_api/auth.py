"""Who asks, and whether they may: TokenReview and SubjectAccessReview, or what stands for them on a laptop.

There is no way to leave either out. Answers to reads are remembered for some seconds, as the API server
itself does; a write is asked for every time.
"""

import asyncio
import hashlib
import hmac
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from llm_operator.kube import Kube
from llm_operator.resources import Obj, Resource
from release_api.errors import UnauthenticatedError
from release_api.names import AUDIENCE
from release_api.plan import User

REMEMBERED = 10.0
"""Seconds."""
MOST = 4096
"""Answers remembered at most."""
PARALLEL = 10
_TOKENS = Resource("authentication.k8s.io", "v1", "tokenreviews")
_SELF = Resource("authentication.k8s.io", "v1", "selfsubjectreviews")
_ACCESS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews")
_OWN_ACCESS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
_LONGEST_TOKEN = 16 * 1024
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request stands for: a verb on an object, or on a collection of it."""

    verb: str
    resource: Resource
    namespace: str = ""
    """Empty for every namespace."""
    name: str = ""

    def attributes(self) -> Obj:
        """Return it as reviews have it."""
        out = {"verb": self.verb, "group": self.resource.group, "version": self.resource.version}
        out |= {"resource": self.resource.plural}
        out |= {"namespace": self.namespace} if self.namespace else {}
        return out | ({"name": self.name} if self.name else {})

    def __str__(self) -> str:
        """Say it as `kubectl auth can-i` has it."""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource.plural}{'/' + self.name if self.name else ''}{where}"


class Gate(Protocol):
    """Knows who asks and what they may."""

    async def user(self, token: str) -> User:
        """Return whose token it is. Raises UnauthenticatedError, ApiError."""

    async def may(self, user: User, ask: Ask) -> bool:
        """Ask whether a user may. Raises ApiError."""


class Memo(Generic[_K, _V]):
    """Remembers answers for a while; of many, the oldest are forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start empty."""
        self._clock = clock
        self._known: dict[_K, tuple[float, _V]] = {}

    def get(self, key: _K) -> _V | None:
        """Return an answer that is not too old."""
        found = self._known.get(key)
        return found[1] if found is not None and self._clock() < found[0] else None

    def put(self, key: _K, value: _V) -> None:
        """Remember an answer."""
        self._known.pop(key, None)
        while len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[key] = (self._clock() + REMEMBERED, value)


class Cluster:
    """The API server decides, by the token's audience and its authorizers."""

    def __init__(self, kube: Kube) -> None:
        """Use the server's own connection."""
        self._kube = kube
        self._users: Memo[bytes, User] = Memo()

    async def user(self, token: str) -> User:
        """Return whose token it is."""
        digest = hashlib.sha256(token.encode()).digest()
        known = self._users.get(digest)
        if known is not None:
            return known
        if not token or len(token) > _LONGEST_TOKEN:
            raise UnauthenticatedError(f"send a bearer token of audience {AUDIENCE}")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}}
        spec = {"token": token, "audiences": [AUDIENCE]}
        status = (await self._kube.create(_TOKENS, {**body, "spec": spec})).get("status") or {}
        if not status.get("authenticated") or AUDIENCE not in (status.get("audiences") or ()):
            raise UnauthenticatedError(f"the token is not valid for audience {AUDIENCE}, or has run out")
        info = status.get("user") or {}
        user = User(str(info.get("username") or ""), tuple(info.get("groups") or ()))
        self._users.put(digest, user)
        return user

    async def may(self, user: User, ask: Ask) -> bool:
        """Ask a SubjectAccessReview."""
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}}
        spec = {"user": user.name, "groups": list(user.groups), "resourceAttributes": ask.attributes()}
        answer = await self._kube.create(_ACCESS, {**body, "spec": spec})
        return bool((answer.get("status") or {}).get("allowed"))


class Embedded:
    """For trying out: whoever has the token file is the user of the kubeconfig."""

    def __init__(self, kube: Kube, token_file: Path) -> None:
        """Use the caller's own connection, and a file that only the caller can read."""
        self._kube, self._file = kube, token_file
        self._user: User | None = None

    async def user(self, token: str) -> User:
        """Compare with the file, which is read each time, and name the kubeconfig's user."""
        wanted = self._file.read_text().strip()
        if not wanted or not hmac.compare_digest(token.encode(), wanted.encode()):
            raise UnauthenticatedError(f"send the text of {self._file} as bearer token")
        if self._user is None:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
            info = ((await self._kube.create(_SELF, body)).get("status") or {}).get("userInfo") or {}
            self._user = User(str(info.get("username") or ""), tuple(info.get("groups") or ()))
        return self._user

    async def may(self, user: User, ask: Ask) -> bool:
        """Ask a SelfSubjectAccessReview."""
        del user
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}}
        spec = {"resourceAttributes": ask.attributes()}
        answer = await self._kube.create(_OWN_ACCESS, {**body, "spec": spec})
        return bool((answer.get("status") or {}).get("allowed"))


class Sight:
    """In which namespaces a caller may list: asked once for all, else for each, and remembered."""

    def __init__(self, gate: Gate, ask: Ask) -> None:
        """Ask the gate about a verb and resource."""
        self._gate, self._ask = gate, ask
        self._known: Memo[tuple[User, str], bool] = Memo()

    async def of(self, user: User, namespaces: Iterable[str]) -> frozenset[str] | None:
        """Return those of the namespaces that the user may see; None for every namespace. Raises ApiError."""
        if await self._may(user, ""):
            return None
        turns = asyncio.Semaphore(PARALLEL)

        async def one(namespace: str) -> str | None:
            async with turns:
                return namespace if await self._may(user, namespace) else None

        found = await asyncio.gather(*(one(namespace) for namespace in sorted(set(namespaces))))
        return frozenset(namespace for namespace in found if namespace is not None)

    async def _may(self, user: User, namespace: str) -> bool:
        known = self._known.get((user, namespace))
        if known is None:
            known = await self._gate.may(user, Ask(self._ask.verb, self._ask.resource, namespace))
            self._known.put((user, namespace), known)
        return known

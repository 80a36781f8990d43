"""The routes. Each authenticates, then hands on; what it answers is in `models`."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, Path, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from release_api import problems
from release_api.audit import Audits
from release_api.auth import Gate, Sight
from release_api.checks import Checks
from release_api.errors import MissingError, TooManyError, UnauthenticatedError, UnavailableError
from release_api.listing import Listing
from release_api.models import (
    AuditPage,
    Backend,
    Change,
    Deployments,
    Install,
    Outcome,
    Problem,
    Release,
    Rollback,
)
from release_api.plan import User
from release_api.rates import Rates
from release_api.running import Running
from release_api.service import Releases
from release_api.views import release

JSON = "application/json"
_DNS = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
Namespace = Annotated[str, Path(pattern=_DNS, max_length=63, description="Namespace of the release")]
Name = Annotated[str, Path(pattern=_SUBDOMAIN, max_length=253, description="Name of the release")]
NewName = Annotated[str, Path(pattern=_DNS, max_length=53, description="Name of the release: helm's limit")]


@dataclass(slots=True)
class Api:
    """What the routes hand on to."""

    releases: Releases
    checks: Checks
    listing: Listing
    audits: Audits
    gate: Gate
    sight: Sight
    rates: Rates
    running: Running
    ready: Callable[[], bool]
    exposition: Callable[[], bytes]


_bearer = HTTPBearer(auto_error=False, description="A token of audience release-api")


async def _user(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> User:
    """Find out who asks."""
    api = _api(request)
    if not api.ready():
        raise UnavailableError("the server has not read the cluster yet", problems.retry_after(1))
    if credentials is None:
        raise UnauthenticatedError("send a bearer token of audience release-api")
    return await api.gate.user(credentials.credentials)


async def _writer(request: Request, user: Annotated[User, Depends(_user)]) -> User:
    """Find out who asks, and slow down who writes too often."""
    wait = _api(request).rates.wait(user.name)
    if wait:
        raise TooManyError(f"too many changes: repeat in {wait:.1f} s", problems.retry_after(wait))
    return user


Reader = Annotated[User, Depends(_user)]
Writer = Annotated[User, Depends(_writer)]


def _api(request: Request) -> Api:
    api: Api = request.app.state.api
    return api


_ALWAYS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)


def _failures(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a route can answer with."""
    content = {problems.MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {int(s): {"description": s.phrase, "content": content} for s in sorted({*_ALWAYS, *statuses})}


_READ = _failures(HTTPStatus.NOT_FOUND)
_CHANGE = _failures(
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_SHAPE: dict[str, Any] = {"tags": ["releases"], "response_model": Outcome}
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": Outcome, "description": "Taken: the controller goes on with it"}
}


def build(api: Api | None) -> FastAPI:
    """Build the application; without an `api` only its description can be had."""
    app = FastAPI(
        title="Release API",
        version="0.1.0",
        summary="Releases of LLM servers: listed until they are really gone.",
        openapi_url="/openapi.json",
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.api = api
    problems.install(app)
    _probes(app)
    _reads(app)
    _changes(app)
    setattr(app, "openapi", _described(app))  # noqa: B010 - FastAPI's own way to extend it
    return app


def _probes(app: FastAPI) -> None:
    @app.get("/healthz", tags=["probes"], summary="Whether the process lives")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", tags=["probes"], summary="Whether the cluster was read", responses=_failures())
    async def readyz(request: Request) -> dict[str, str]:
        if not _api(request).ready():
            raise UnavailableError("the server has not read the cluster yet")
        return {"status": "ok"}

    @app.get("/metrics", tags=["probes"], summary="Prometheus metrics", response_class=Response)
    async def metrics(request: Request) -> Response:
        return Response(_api(request).exposition(), media_type="text/plain; version=0.0.4")


def _reads(app: FastAPI) -> None:
    @app.get(
        "/api/deployments",
        tags=["releases"],
        summary="List releases",
        responses=_READ,
        response_model=Deployments,
    )
    async def deployments(request: Request, user: Reader) -> Response:
        return Response(await _api(request).listing.body(user), media_type=JSON)

    @app.get(
        "/api/releases/{namespace}/{name}",
        tags=["releases"],
        summary="Look at a release",
        responses=_READ,
        response_model_exclude_none=True,
    )
    async def status(request: Request, user: Reader, namespace: Namespace, name: Name) -> Release:
        api, key = _api(request), (namespace, name)
        await api.releases.authorise(user, "get", key, api.releases.backend_of(key))
        await api.checks.before_read([key])
        facts = api.releases.facts(key)
        if facts is None:
            raise MissingError("there is no such release")
        return release(facts, api.releases.tools.clock.now())

    @app.get(
        "/api/audit",
        tags=["audit"],
        summary="Page through the changes, newest first",
        responses=_READ,
        response_model_exclude_none=True,
    )
    async def audit(
        request: Request,
        user: Reader,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
        before: Annotated[str, Query(max_length=128, description="`next` of the page before")] = "",
    ) -> AuditPage:
        api = _api(request)
        namespaces = {row.namespace for _, row in api.audits.newest()}
        seen = await api.sight.of(user, namespaces)
        rows = (found for found in api.audits.newest(before) if seen is None or found[1].namespace in seen)
        page = [found for found, _ in zip(rows, range(limit + 1), strict=False)]
        more = page[limit - 1][0] if len(page) > limit else None
        return AuditPage(items=[row for _, row in page[:limit]], next=more)


def _changes(app: FastAPI) -> None:
    shape = _SHAPE | {"responses": _CHANGE | _ACCEPTED}
    path = "/api/releases/{namespace}/{name}"

    @app.post(path, summary="Install a release", **shape)
    async def install(
        request: Request, user: Writer, namespace: Namespace, name: NewName, body: Install
    ) -> Response:
        return await _answer(request, _api(request).releases.install((namespace, name), body, user))

    @app.put(path, summary="Upgrade a release", **shape)
    async def upgrade(
        request: Request, user: Writer, namespace: Namespace, name: Name, body: Change
    ) -> Response:
        return await _answer(request, _api(request).releases.upgrade((namespace, name), body, user))

    @app.post(f"{path}/rollback", summary="Roll a release back", **shape)
    async def rollback(
        request: Request,
        user: Writer,
        namespace: Namespace,
        name: Name,
        body: Annotated[Rollback | None, Body()] = None,
    ) -> Response:
        revision = body.revision if body is not None else None
        return await _answer(request, _api(request).releases.rollback((namespace, name), revision, user))

    @app.delete(path, summary="Uninstall a release", **(_SHAPE | {"responses": _CHANGE}))
    async def uninstall(request: Request, user: Writer, namespace: Namespace, name: Name) -> Response:
        return await _answer(
            request, _api(request).releases.uninstall((namespace, name), user), HTTPStatus.OK
        )


async def _answer(
    request: Request, change: Coroutine[Any, Any, Outcome], accepted: HTTPStatus = HTTPStatus.ACCEPTED
) -> Response:
    """Run a change; 202 where a controller goes on with it."""
    outcome = await _api(request).running.run(change)
    status = HTTPStatus.OK if outcome.backend is Backend.HELM else accepted
    return Response(outcome.model_dump_json(by_alias=True, exclude_none=True), status, media_type=JSON)


def _described(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return what describes the application, the model of problems among its schemas."""
    plain = app.openapi

    def describe() -> dict[str, Any]:
        found = plain()
        found["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        return found

    return describe


def description() -> dict[str, Any]:
    """Return the OpenAPI description, as it is served."""
    return build(None).openapi()

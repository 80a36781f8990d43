"""Turns every failure of a request into a problem of RFC 9457, without a value of the request's body."""

import math
from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from llm_operator.kube import ApiError
from release_api.errors import RefusedError
from release_api.models import Problem

MEDIA = "application/problem+json"
BUSY_SECONDS = 2


def problem(
    status: int, detail: str, headers: dict[str, str] | None = None, instance: str | None = None
) -> Response:
    """Build the answer."""
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, instance=instance)
    text = body.model_dump_json(exclude_none=True)
    return Response(text, status_code=status, media_type=MEDIA, headers=headers)


def of_api_error(error: ApiError) -> tuple[int, str]:
    """Say what a failed call of ours means to the caller; the API server's own words may name values."""
    reason = str(error.body.get("reason") or "")
    about = error.body.get("details") or {}
    if error.status == HTTPStatus.NOT_FOUND and about.get("kind") == "namespaces":
        return HTTPStatus.NOT_FOUND, "there is no such namespace"
    if error.status == HTTPStatus.FORBIDDEN and "being terminated" in str(error):
        return HTTPStatus.CONFLICT, "the namespace is being terminated"
    if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return error.status, "what is to be stored is too large for Kubernetes: shorten the values"
    if error.status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY):
        return HTTPStatus.CONFLICT, "somebody else has changed the release in this moment: look, and repeat"
    what = f"{error.status} {reason}".strip() if error.status else "no answer"
    return HTTPStatus.SERVICE_UNAVAILABLE, f"the Kubernetes API server does not comply ({what}): repeat later"


def install(app: FastAPI) -> None:
    """Register the handlers."""

    @app.exception_handler(RefusedError)
    async def refused(request: Request, error: RefusedError) -> Response:
        return problem(error.status, error.detail, error.headers, request.url.path)

    @app.exception_handler(ApiError)
    async def failed(request: Request, error: ApiError) -> Response:
        status, detail = of_api_error(error)
        headers = {"Retry-After": str(BUSY_SECONDS)} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
        structlog.get_logger().warning("call failed", path=request.url.path, status=error.status)
        return problem(status, detail, headers, request.url.path)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        told = [f"{_where(found['loc'])}: {found['msg']}" for found in error.errors()[:5]]
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(told), instance=request.url.path)

    @app.exception_handler(HTTPException)
    async def wrong(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers) if error.headers else None
        return problem(error.status_code, str(error.detail), headers, request.url.path)

    @app.exception_handler(Exception)
    async def unhandled(request: Request, error: Exception) -> Response:
        structlog.get_logger().error("unhandled", path=request.url.path, kind=type(error).__name__)
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "a fault of the server: see its log")


def retry_after(seconds: float) -> dict[str, str]:
    """Return the header for a wait."""
    return {"Retry-After": str(max(math.ceil(seconds), 1))}


def _where(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc if isinstance(part, int) or part.isprintable())[:200]

"""Why a request is refused: each becomes a problem with its status. Pure."""

from http import HTTPStatus


class RefusedError(Exception):
    """A request is not carried out; nothing was changed."""

    status = HTTPStatus.BAD_REQUEST

    def __init__(self, detail: str, headers: dict[str, str] | None = None) -> None:
        """Say what is wrong and what to do."""
        super().__init__(detail)
        self.detail, self.headers = detail, headers or {}


class UnauthenticatedError(RefusedError):
    """Nobody knows who asks."""

    status = HTTPStatus.UNAUTHORIZED

    def __init__(self, detail: str) -> None:
        """Say what kind of credential is wanted."""
        super().__init__(detail, {"WWW-Authenticate": "Bearer"})


class ForbiddenError(RefusedError):
    """The caller may not do this."""

    status = HTTPStatus.FORBIDDEN


class MissingError(RefusedError):
    """Nothing of that name is there."""

    status = HTTPStatus.NOT_FOUND


class ConflictError(RefusedError):
    """Something else is in progress, or the name is taken."""

    status = HTTPStatus.CONFLICT


class InvalidError(RefusedError):
    """The request makes no sense for this release."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class TooManyError(RefusedError):
    """The caller writes too often."""

    status = HTTPStatus.TOO_MANY_REQUESTS


class UnavailableError(RefusedError):
    """The API server, or the lock, is lost for now."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

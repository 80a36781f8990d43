"""The Kubernetes API, with the user's kubeconfig: through the operator's client, so exec plugins work."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

from llm_operator.kube import ApiError, Kube
from modelctl.exits import CommandError, Exit

_CODES: Mapping[int, Exit] = {
    HTTPStatus.UNAUTHORIZED: Exit.DENIED,
    HTTPStatus.FORBIDDEN: Exit.DENIED,
    HTTPStatus.NOT_FOUND: Exit.NOT_FOUND,
    HTTPStatus.CONFLICT: Exit.CONFLICT,
    0: Exit.UNREACHABLE,
}


@asynccontextmanager
async def connected(kubeconfig: str | None) -> AsyncIterator[Kube]:
    """Connect for the body; whatever the API server refuses in it is raised as CommandError."""
    path = _path(kubeconfig)
    try:
        kube = await Kube.connect(path)
        try:
            yield kube
        finally:
            await kube.close()
    except ApiError as error:
        raise CommandError(_CODES.get(error.status, Exit.FAILED), f"Kubernetes: {error}") from None


def _path(kubeconfig: str | None) -> str:
    path = Path(kubeconfig or Path.home() / ".kube" / "config")
    if not path.is_file():
        raise CommandError(Exit.USAGE, f"no kubeconfig at {path}: pass --kubeconfig or set KUBECONFIG")
    return str(path)


async def own_token(kubeconfig: str | None) -> str:
    """Return the token of the kubeconfig's user, empty when it has none."""
    async with connected(kubeconfig) as kube:
        return await kube.own_token()


async def request_token(kubeconfig: str | None, account: tuple[str, str], audience: str, seconds: int) -> str:
    """Ask for a token of a service account."""
    spec = {"audiences": [audience], "expirationSeconds": seconds}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    async with connected(kubeconfig) as kube:
        answer = await kube.create_at(
            f"/api/v1/namespaces/{account[0]}/serviceaccounts/{account[1]}/token", body
        )
    return str(answer["status"]["token"])

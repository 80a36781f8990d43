"""One Starlette route that returns a file's bytes, by the same server and TLS: the bench's floor."""

import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def main(body: Path, port: int, tls: Path) -> None:
    """Serve until killed."""
    data = body.read_bytes()

    async def deployments(_request: Request) -> Response:
        return Response(data, media_type="application/json")

    app = Starlette(routes=[Route("/api/deployments", deployments)])
    certificate, key = tls / "tls.crt", tls / "tls.key"
    uvicorn.run(app, port=port, log_config=None, ssl_certfile=str(certificate), ssl_keyfile=str(key))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))

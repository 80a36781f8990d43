"""The small HTTP server beside a program: /healthz, /readyz and /metrics."""

import socket
from collections.abc import Callable

from aiohttp import web


async def serve(
    port: int, healthy: Callable[[], bool], ready: Callable[[], bool], text: Callable[[], bytes]
) -> web.AppRunner:
    """Listen on all addresses; the caller cleans the returned runner up."""

    async def probe(request: web.Request) -> web.Response:
        good = healthy() if request.path == "/healthz" else ready()
        return web.Response(status=200 if good else 503, text="ok" if good else "not ready")

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(body=text(), content_type="text/plain", charset="utf-8")

    app = web.Application()
    app.add_routes([web.get("/healthz", probe), web.get("/readyz", probe), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.SockSite(runner, _listen(port)).start()
    return runner


def _listen(port: int) -> socket.socket:
    """Listen on one socket for both address families, where the machine has both."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))

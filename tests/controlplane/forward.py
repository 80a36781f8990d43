"""Forwards TCP connections from listening sockets of the host to ports inside the plane's network namespace.

A socket belongs for ever to the network namespace it was made in, so the launcher binds it outside and the
supervisor, which inherits it, accepts on it from inside.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

_CHUNK = 256 * 1024


async def forward(listener: socket.socket, port: int) -> asyncio.Server:
    """Accept on `listener` and connect each client to 127.0.0.1:`port` of this network namespace."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port, limit=_CHUNK)
        except OSError:
            # Nothing listens inside (yet): the client sees its connection closed, as from a dead server.
            writer.transport.abort()
            return
        try:
            await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))
        finally:
            # Both directions have ended; a half-closed transport does not close by itself.
            inner_writer.close()
            writer.close()

    listener.settimeout(0)
    return await asyncio.start_server(serve, sock=listener, limit=_CHUNK)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
            return
    writer.close()

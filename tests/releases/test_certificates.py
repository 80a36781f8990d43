"""A certificate that is renewed on disk is served without a restart."""

import asyncio
import ssl
from pathlib import Path

from controlplane import certs
from release_api.certificates import renew

EVERY = 0.02


def test_renewal(tmp_path: Path) -> None:
    """New connections get the new certificate; a half-written file changes nothing and ends nothing."""
    ca = certs.authority("test")
    asyncio.run(_renewed(ca, tmp_path))


async def _renewed(ca: certs.Pair, folder: Path) -> None:
    certs.signed(ca, ["127.0.0.1"]).write(folder, ca.cert)
    certificate, key = folder / "tls.crt", folder / "tls.key"
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with await asyncio.start_server(_nothing, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        looking = asyncio.create_task(renew(context, certificate, key, EVERY))
        before = await _served(port, ca)
        certificate.write_bytes(b"half")
        await asyncio.sleep(5 * EVERY)
        assert await _served(port, ca) == before
        certs.signed(ca, ["127.0.0.1"]).write(folder, ca.cert)
        async with asyncio.timeout(60):
            while await _served(port, ca) == before:  # noqa: ASYNC110 - each look is a connection
                await asyncio.sleep(EVERY)
        assert not looking.done()
        looking.cancel()


async def _nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _served(port: int, ca: certs.Pair) -> bytes:
    """Return the certificate that a new connection gets."""
    context = ssl.create_default_context(cadata=ca.cert.decode())
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return found

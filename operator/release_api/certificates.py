"""Reads the certificate again when its file changes: a mounted Secret is renewed under a running server."""

import asyncio
import ssl
from pathlib import Path

import structlog

LOOK = 30.0
"""Seconds between looks."""


async def renew(context: ssl.SSLContext, certificate: Path, key: Path, every: float = LOOK) -> None:
    """Look for ever; new connections get the new certificate."""
    log = structlog.get_logger()
    known = _changed(certificate)
    while True:
        await asyncio.sleep(every)
        try:
            found = _changed(certificate)
            if found != known:
                context.load_cert_chain(certificate, key)
                known = found
                log.info("certificate read again")
        except OSError as error:  # An SSLError is one; half-written files are read at the next look.
            log.warning("certificate not read", error=str(error))


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns

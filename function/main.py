"""Serves the function: over mTLS as Crossplane runs it, or with --insecure on this machine."""

from __future__ import annotations

import ctypes
import gc

import click
from crossplane.function import cli, logging

from function.fn import FunctionRunner
from function.server import serve

# InferenceClusters with many consumers exceed the SDK's 4 MB.
MAX_MESSAGE_MB = 32

_MEBIBYTE = 1024 * 1024

# Parameters of glibc's mallopt. By themselves they adapt to what is freed, and a message of some 200 KB makes
# the heap grow and shrink with every call.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_FREE, _MAPPED_FROM = 8 * _MEBIBYTE, 16 * _MEBIBYTE

# Objects between two collections of the youngest generation. A call makes some thousand and leaves no cycles.
_YOUNG_OBJECTS = 20_000


@click.command()
@cli.standard_options
def main(  # noqa: PLR0913 -- the SDK's options
    *,
    debug: bool,
    address: str,
    tls_certs_dir: str | None,
    insecure: bool,
    max_recv_message_size: int,
    max_send_message_size: int | None,
) -> None:
    """Serve the composition function until stopped."""
    if not insecure and not tls_certs_dir:
        raise click.UsageError("give --tls-server-certs-dir, or --insecure to serve without TLS")
    logging.configure(level=logging.Level.DEBUG if debug else logging.Level.INFO)
    received = max(max_recv_message_size, MAX_MESSAGE_MB)
    options = [
        ("grpc.max_receive_message_length", received * _MEBIBYTE),
        ("grpc.max_send_message_length", (max_send_message_size or received) * _MEBIBYTE),
    ]
    _settle()
    serve(FunctionRunner(), address, None if insecure else tls_certs_dir, options)


def _settle() -> None:
    """Spare every call work on memory; without glibc its own part of it is left out."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_FROM)
    gc.freeze()  # what is loaded by now lives for ever: no collection has to walk it again
    gc.set_threshold(_YOUNG_OBJECTS, 20, 100)
    gc.enable()

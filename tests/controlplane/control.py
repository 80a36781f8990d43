"""How a plane's owner talks to its supervisor: one JSON request and one JSON answer per connection.

The socket is of type SOCK_SEQPACKET, so that a message arrives whole together with the file descriptors that
travel with it. An answer is `{"ok": ...}` or `{"error": "..."}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import TYPE_CHECKING, Any

from controlplane.errors import ControlPlaneError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MESSAGE_LIMIT = 128 * 1024
SOCKET_NAME = "control.sock"


def listen(folder: Path) -> socket.socket:
    """Return the supervisor's non-blocking listening socket in `folder`."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with _short(folder) as name:
        listener.bind(name)
    listener.listen(64)
    listener.settimeout(0)
    return listener


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as it goes over the socket."""
    data = json.dumps(message).encode()
    if len(data) > MESSAGE_LIMIT:
        raise ControlPlaneError(
            f"a control message of {len(data)} bytes is over the limit of {MESSAGE_LIMIT}"
        )
    return data


def request(
    folder: Path, message: dict[str, Any], fds: Sequence[int] = (), timeout: float | None = 60
) -> Any:  # noqa: ANN401 -- the answer's shape depends on the operation
    """Send one request to the supervisor whose state folder this is and return what it answered.

    `timeout` is in seconds (None: wait for ever). Raises ControlPlaneError when the supervisor is not there,
    does not answer in time or answers with an error.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(timeout)
        try:
            with _short(folder) as name:
                connection.connect(name)
            socket.send_fds(connection, [encode(message)], fds)
            data = connection.recv(MESSAGE_LIMIT)
        except TimeoutError as error:
            raise ControlPlaneError(f"`{message['op']}` took longer than {timeout} s in {folder}") from error
        except OSError as error:
            raise ControlPlaneError(f"no control plane answers in {folder}: {error}") from error
    if not data:
        raise ControlPlaneError(f"the control plane in {folder} went away during `{message['op']}`")
    answer = json.loads(data)
    if "error" in answer:
        raise ControlPlaneError(answer["error"])
    return answer["ok"]


@contextlib.contextmanager
def _short(folder: Path) -> Iterator[str]:
    """Yield the socket's name through /proc: an AF_UNIX name has at most 107 bytes."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET_NAME}"
    finally:
        os.close(fd)

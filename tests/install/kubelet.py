"""What a kubelet does and nothing here would: a Deployment that goes takes its processes with it."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from urllib3.exceptions import HTTPError

from controlplane.kube import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from controlplane.plane import Plane


PATIENT = "--lease-seconds=60"
"""For a controller here: who loses its lease on a busy machine ends, and nobody starts it again."""


@contextlib.contextmanager
def stopping(plane: Plane, namespace: str, name: str) -> Iterator[None]:
    """Stop the component `name` when its Deployment goes, at the latest at the end of the block.

    Its roles go with the Deployment: left alone it would lose its lease and end by itself, which every wait
    on the plane takes for a broken plane.
    """
    over = threading.Event()

    def stop() -> None:
        if plane.status().get(name, {}).get("state") == "running":
            plane.stop(name)

    def look() -> None:
        while not over.wait(0.5):
            with contextlib.suppress(ApiError, HTTPError):  # the next look may be answered
                if plane.api.find("apps/v1", "Deployment", name, namespace) is None:
                    stop()
                    return

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        stop()

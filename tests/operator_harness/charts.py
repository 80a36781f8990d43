"""A chart repository.

The test charts, packaged by helm, served over HTTP for as long as a test session runs.
"""

import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Repository:
    """Where the charts are served."""

    url: str
    folder: Path


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Say nothing."""


@contextmanager
def serve(helm: str, charts: Path, folder: Path) -> Iterator[Repository]:
    """Package every chart below `charts` into `folder` and serve it."""
    for chart in sorted(path.parent for path in charts.glob("*/Chart.yaml")):
        subprocess.run(
            [helm, "package", str(chart), "--destination", str(folder)], check=True, capture_output=True
        )
    subprocess.run([helm, "repo", "index", str(folder)], check=True, capture_output=True)
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Repository(f"http://127.0.0.1:{server.server_port}", folder)
        finally:
            server.shutdown()
            thread.join()

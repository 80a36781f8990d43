"""The autoscaler's cases: a file each, run by the server as a process, with Prometheus and a real API server.

And the query client against Prometheus itself.
"""

from __future__ import annotations

import asyncio
import http.server
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from controlplane.kube import wait_until
from operator_harness.cases import load
from operator_harness.world import PATIENCE
from prometheus_harness import exporter, server
from prometheus_harness.exporter import NAME
from release_api.autoscale.prometheus import Prometheus
from releases_harness.autoscale import Metrics, ScaledRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from operator_harness.world import World
    from release_api.autoscale.model import Reading

CASES = sorted((Path(__file__).parent / "cases" / "autoscale").glob("*.yaml"))


@pytest.fixture(scope="session")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    """Return an exporter and the Prometheus that scrapes it."""
    with (
        exporter.serve() as served,
        server.start(tmp_path_factory.mktemp("prom"), served.address) as prometheus,
    ):
        yield Metrics(served, prometheus)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, release_world: World, metrics: Metrics, tmp_path: Path) -> None:
    """The case holds."""
    case = load(path)
    assert case["id"] == path.stem
    ScaledRun(release_world, case, tmp_path, metrics=metrics).play()


def test_every_named_case_is_there() -> None:
    """The guards and the loop with each, under their names."""
    why = ("uninstalling", "llm-deleting", "llm-phase-deleting")
    named = {f"{what}-{each}" for what in ("guard", "loop") for each in why}
    assert named <= {path.stem for path in CASES}


def ask(url: str, query: str, seconds: float = 5.0) -> Reading:
    """Ask once."""

    async def asked() -> Reading:
        prometheus = Prometheus(url, seconds)
        try:
            return await prometheus.ask(query)
        finally:
            await prometheus.close()

    return asyncio.run(asked())


# id, query, samples as they read, what the error says
QUERIES = [
    ("one", f'{NAME}{{release="ask", pod="a"}}', ["7.0"], ""),
    ("sum", f'sum({NAME}{{release="ask"}})', ["9.0"], ""),
    ("two series", f'{NAME}{{release="ask"}}', ["2.0", "7.0"], ""),
    ("no series", f'{NAME}{{release="nobody"}}', [], ""),
    ("scalar", "1 + 1", ["2.0"], ""),
    ("not a number", "0 / 0", ["nan"], ""),
    ("infinite", "1 / 0", ["inf"], ""),
    ("a matrix", f"{NAME}[1m]", [], "the query returns a matrix"),
    ("a string", '"x"', [], "the query returns a string"),
    ("no PromQL", "sum(", [], "Prometheus refused the query: "),
    ("empty", "", [], "Prometheus refused the query: "),
    ("many to many", f"{NAME} * on(release) {NAME}", [], "Prometheus refused the query: "),
]


@pytest.mark.parametrize("row", QUERIES, ids=lambda row: row[0])
def test_ask(row: tuple[str, str, list[str], str], metrics: Metrics) -> None:
    """Prometheus's own answers are read as numbers or as one line."""
    for pod, load_ in {"a": 7, "b": 2}.items():
        metrics.exporter.set("ask", load_, pod)
        metrics.prometheus.wait_for(f'{NAME}{{release="ask", pod="{pod}"}}', str(load_))

    def asked() -> Reading | None:  # A scrape that was late leaves no sample behind, until the next.
        found = ask(metrics.prometheus.url, row[1])
        return found if sorted(str(sample) for sample in found.samples) == row[2] else None

    reading = wait_until(asked, f"{row[1]} is {row[2]}", PATIENCE)
    assert reading is not None
    assert reading.error.startswith(row[3])
    assert bool(reading.error) is bool(row[3])
    assert "\n" not in reading.error


def test_a_series_that_ended_is_no_data(metrics: Metrics) -> None:
    """A pod that is gone leaves no number behind, so its last load is never decided on."""
    metrics.exporter.set("ended", 5)
    query = f'{NAME}{{release="ended"}}'
    metrics.prometheus.wait_for(query, "5")
    metrics.exporter.drop("ended")
    metrics.prometheus.wait_for(query, None)
    assert ask(metrics.prometheus.url, query).samples == ()


def test_nobody_listens() -> None:
    """A Prometheus that is not there is an error, not a number."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert ask(url, "1").error.startswith("Prometheus cannot be reached: ")


def test_nobody_answers() -> None:
    """One that accepts and says nothing is given up within the bound."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        reading = ask(f"http://127.0.0.1:{silent.getsockname()[1]}", "1", seconds=0.3)
    assert reading.error == "Prometheus did not answer within 0.3 s"
    assert time.monotonic() - began < 60


class _Odd(http.server.BaseHTTPRequestHandler):
    """Answers by its path as no Prometheus does."""

    def do_POST(self) -> None:
        """Redirect, or send without end."""
        if self.path.startswith("/away"):
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" " * 65536)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Say nothing."""


@contextmanager
def odd() -> Iterator[str]:
    """Serve what is no Prometheus."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Odd) as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{served.server_port}"
        finally:
            served.shutdown()
            thread.join()


@pytest.mark.parametrize(("path", "says"), [("/away", "is no Prometheus"), ("/endless", "more than")])
def test_what_is_no_prometheus(path: str, says: str) -> None:
    """A redirect is not followed, and an answer without end is not read to its end."""
    with odd() as url:
        assert says in ask(url + path, "1").error

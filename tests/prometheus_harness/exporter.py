"""An exporter of one's own: gauges that a test sets, served for Prometheus to scrape."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Gauge, start_http_server

NAME = "llm_requests_waiting"


@dataclass
class Exporter:
    """Serves the gauge `NAME` with one series a pod."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    gauge: Gauge = field(init=False)
    address: str = ""

    def __post_init__(self) -> None:
        """Declare the gauge; it has no series until one is set."""
        self.gauge = Gauge(NAME, "Requests that wait.", ["release", "pod"], registry=self.registry)

    def set(self, release: str, load: float, pod: str = "0") -> None:
        """Set the series of a pod."""
        self.gauge.labels(release, pod).set(load)

    def drop(self, release: str, pod: str = "0") -> None:
        """Let a series go, as that of a pod that ended."""
        self.gauge.remove(release, pod)


@contextmanager
def serve() -> Iterator[Exporter]:
    """Serve an exporter on a free port of loopback."""
    exporter = Exporter()
    server, thread = start_http_server(0, addr="127.0.0.1", registry=exporter.registry)
    exporter.address = f"127.0.0.1:{server.server_port}"
    try:
        yield exporter
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

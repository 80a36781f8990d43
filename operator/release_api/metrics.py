"""Prometheus metrics. Labels are closed sets (routes, verbs, results), never names of objects or users.

Series that alerts look at are there from the first scrape on: a first failure is an increase.
"""

from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from release_api.models import Backend

HELM_VERBS = ("install", "upgrade", "rollback", "autoscale", "uninstall")
HELM_RESULTS = ("succeeded", "failed")


class Metrics:
    """The API's metrics on a registry of their own."""

    def __init__(self) -> None:
        """Declare them all, so that each is there from the first scrape on."""
        registry = self.registry = CollectorRegistry()
        self.requests = Histogram(
            "release_api_request_seconds",
            "Requests by route.",
            ["method", "route", "code"],
            buckets=(0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300),
            registry=registry,
        )
        self.api_errors = Counter(
            "release_api_kube_errors",
            "Calls that failed; code 0 means no answer.",
            ["verb", "code"],
            registry=registry,
        )
        self.helm = Counter("release_api_helm_runs", "Runs of helm.", ["verb", "result"], registry=registry)
        for labels in product(HELM_VERBS, HELM_RESULTS):
            self.helm.labels(*labels)
        self.busy = Counter(
            "release_api_lock_busy", "Locks that somebody else held.", ["operation"], registry=registry
        )
        self.locks_lost = Counter(
            "release_api_locks_lost", "Locks that could not be renewed.", registry=registry
        )
        self.releases = Gauge("release_api_releases", "Plans, now.", ["phase"], registry=registry)
        self.reaped = Counter(
            "release_api_reaped", "Releases that dropped out.", ["backend"], registry=registry
        )
        for backend in Backend:
            self.reaped.labels(str(backend))

    def api_error(self, verb: str, status: int) -> None:
        """Count a failed call."""
        self.api_errors.labels(verb, str(status)).inc()

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)

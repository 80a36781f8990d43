"""The autoscaler's metrics. Labels are closed sets, never names of objects."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from release_api.autoscale.model import Verdict


class Metrics:
    """Declared all at once, so that each is there from the first scrape on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Declare them on the registry of the server."""
        self.decisions = Counter(
            "release_api_autoscale_decisions", "Looks at a role.", ["verdict"], registry=registry
        )
        for verdict in Verdict:
            self.decisions.labels(verdict)
        self.applies = Counter(
            "release_api_autoscale_applies", "Changes of replicas.", ["result"], registry=registry
        )
        for result in ("applied", "refused", "failed"):
            self.applies.labels(result)
        self.held = Gauge(
            "release_api_autoscale_held", "Releases that the autoscaler leaves alone, now.", registry=registry
        )
        self.looked = Gauge(
            "release_api_autoscale_last_look_timestamp_seconds",
            "When the policies were last read, in seconds of Unix time.",
            registry=registry,
        )

"""Prometheus metrics. Labels are closed sets (stages, outcomes, verbs), never names of objects."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

HELM_VERBS, HELM_RESULTS = ("install", "upgrade", "rollback", "uninstall"), ("succeeded", "failed")
_STAGE_SECONDS = (0.1, 1, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 7200)


class Metrics:
    """The controller's metrics on a registry of their own."""

    def __init__(self, stages: Iterable[str] = (), outcomes: Iterable[str] = ()) -> None:
        """Declare them all, so that each is there from the first scrape on: a first failure is an increase.

        `stages` and `outcomes` are a teardown's.
        """
        self._stages = tuple(stages)
        self.registry = CollectorRegistry()
        self.api_errors = Counter(
            "llm_operator_api_errors",
            "Calls that failed; code 0 means no answer.",
            ["verb", "code"],
            registry=self.registry,
        )
        self.in_stage = Gauge(
            "llm_operator_teardowns", "Teardowns by stage, now.", ["stage"], registry=self.registry
        )
        self.finished = Counter(
            "llm_operator_teardowns_finished",
            "Teardowns that dropped the finalizer.",
            ["outcome"],
            registry=self.registry,
        )
        for outcome in outcomes:
            self.finished.labels(outcome)
        self.stage_seconds = Histogram(
            "llm_operator_teardown_stage_seconds",
            "How long a teardown was in a stage.",
            ["stage"],
            buckets=_STAGE_SECONDS,
            registry=self.registry,
        )
        self.pods_remaining = Gauge(
            "llm_operator_pods_remaining", "Pods that teardowns wait for, now.", registry=self.registry
        )
        self.requeues = Counter(
            "llm_operator_requeues", "Passes that asked to come back.", registry=self.registry
        )
        self.passes = Counter("llm_operator_passes", "Passes.", ["kind"], registry=self.registry)
        self.helm = Counter(
            "llm_operator_helm_runs", "Runs of helm.", ["verb", "result"], registry=self.registry
        )
        for verb, result in product(HELM_VERBS, HELM_RESULTS):
            self.helm.labels(verb, result)
        self.late = Gauge(
            "llm_operator_latest_pass_seconds",
            "The longest that a pass ever began after its due time.",
            registry=self.registry,
        )
        self.leading = Gauge("llm_operator_leading", "1 while this replica leads.", registry=self.registry)

    def api_error(self, verb: str, status: int) -> None:
        """Count a failed call."""
        self.api_errors.labels(verb, str(status)).inc()

    def left_stage(self, stage: str, after: timedelta) -> None:
        """Note how long a stage took."""
        self.stage_seconds.labels(stage).observe(max(after.total_seconds(), 0.0))

    def now(self, stages: Mapping[str, int], pods: int, late: timedelta) -> None:
        """Set the gauges that describe this moment."""
        for stage in self._stages:
            self.in_stage.labels(stage).set(stages.get(stage, 0))
        self.pods_remaining.set(pods)
        self.late.set(late.total_seconds())

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self.registry)

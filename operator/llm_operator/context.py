"""What every part of a program that talks to a cluster needs: the API server, the clock, the metrics."""

from dataclasses import dataclass

from llm_operator.clock import Clock
from llm_operator.kube import Kube
from llm_operator.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Context:
    """Handed down from `main`; the same for all parts."""

    kube: Kube
    clock: Clock
    metrics: Metrics

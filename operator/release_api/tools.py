"""What every part that acts needs; handed down from `main`, the same for all."""

from dataclasses import dataclass

from llm_operator.clock import Clock
from llm_operator.helm import Helm
from llm_operator.kube import Kube
from release_api.archives import Archives
from release_api.audit import Auditor
from release_api.lock import Locks
from release_api.metrics import Metrics
from release_api.plans import Book
from release_api.state import State


@dataclass(frozen=True, slots=True)
class Tools:
    """The cluster, what memory knows of it, and the few that may write."""

    kube: Kube
    clock: Clock
    helm: Helm
    state: State
    book: Book
    locks: Locks
    auditor: Auditor
    archives: Archives
    metrics: Metrics
    impersonate: bool = True
    """False only where the server itself runs as the caller."""

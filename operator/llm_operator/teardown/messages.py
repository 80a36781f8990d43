"""The sentences that people read in status and events.

Pure, sorted, and free of relative times, so that deciding twice on the same facts writes nothing new.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from llm_operator.pods import Pod, stuck
from llm_operator.teardown.model import Facts, Routes

SUSPENDED = "deletion waits for spec.suspend=false; the finalizer is kept and nothing is removed"
PODS_UNSEEN = "the release's pods cannot be seen at the moment; waiting for the API server"
SHOWN = 3
"""How many names a message spells out; the rest is a number."""


def orphaned(facts: Facts) -> str:
    """Say what Orphan leaves behind."""
    return f"deletion-policy is Orphan: release {facts.release_name} and its pods are left as they are"


def unreadable(facts: Facts) -> str:
    """Say which record is in the way."""
    return f"the state of helm release {facts.release_name} is unknown, waiting: {_why(facts)}"


def _why(facts: Facts) -> str:
    return facts.release.detail or facts.routes.error or "its stored record cannot be read"


def left_behind(facts: Facts) -> str:
    """Name the release that stays, and what helm said last."""
    said = facts.attempt.error if facts.attempt is not None and facts.attempt.error else _why(facts)
    return f"helm release {facts.release_name} is left behind: {said}"


def removing(routes: Routes) -> str:
    """Name the routes that are still there."""
    if routes.error and not routes.left:
        return f"waiting for the ModelRoute to go: {routes.error}"
    text = f"waiting for {_some('ModelRoute', [str(r) for r in routes.left])} to go"
    return f"{text}: {routes.error}" if routes.error else text


def settling(settle: str) -> str:
    """Say how long the settle is."""
    return f"ModelRoutes are gone; settling for {settle} before the release is uninstalled"


def uninstalling(facts: Facts) -> str:
    """Say that helm is at work, and what it said last."""
    if facts.attempt is not None and facts.attempt.error:
        return f"helm uninstall {facts.release_name} failed and is retried: {facts.attempt.error}"
    return f"uninstalling helm release {facts.release_name}"


def uninstalled(facts: Facts) -> str:
    """Say that helm is done, and keep an error that it dropped the release in spite of."""
    if facts.attempt is not None and facts.attempt.error:
        return f"helm release {facts.release_name} is gone, though helm said: {facts.attempt.error}"
    return f"helm release {facts.release_name} is gone"


def released(facts: Facts) -> str:
    """Say that nothing is left."""
    return f"release {facts.release_name} and its pods are gone"


def timed_out(max_wait: str, rest: str) -> str:
    """Say that the budget is used up, and what is left."""
    return f"maxWait of {max_wait} is over; {rest}"


def pods_left(facts: Facts, left: tuple[Pod, ...]) -> str:
    """Name the pods that outlived the budget."""
    return f"{_some('pod', [pod.name for pod in left])} of release {facts.release_name} left"


def waiting(left: tuple[Pod, ...], nodes: Mapping[str, bool], now: datetime) -> str:
    """Say how many pods are awaited and where the stuck ones sit.

    `waiting for 3 pods (2 stuck on NotReady node n)`.
    """
    groups = Counter(_place(pod, nodes) for pod in left if stuck(pod, nodes, now))
    places = [f"{count} stuck {place}" for place, count in sorted(groups.items())]
    more = (
        [f"{sum(groups[p] for p in sorted(groups)[SHOWN:])} stuck elsewhere"] if len(places) > SHOWN else []
    )
    text = f"waiting for {_count(len(left), 'pod')}"
    return f"{text} ({', '.join(places[:SHOWN] + more)})" if places else text


def _place(pod: Pod, nodes: Mapping[str, bool]) -> str:
    if pod.node and pod.node not in nodes:
        return f"on missing node {pod.node}"
    if pod.node and not nodes[pod.node]:
        return f"on NotReady node {pod.node}"
    return "past its grace"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _some(noun: str, names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:SHOWN])
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{_count(len(names), noun)} {shown}{rest}"

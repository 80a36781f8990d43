"""Looks at every release that has a policy, and applies what is decided.

    policy and memory -> hold? -> query -> decide (pure) -> memory written -> applied under the lock

It runs beside the check loop, on every replica of the server: whoever writes the memory first applies.
Nothing here takes longer than its bounds, and a release whose apply takes minutes delays no other.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from llm_operator.clock import Clock
from llm_operator.ending import finish
from llm_operator.kube import ApiError, Kube
from release_api.autoscale import policy as policies
from release_api.autoscale import store
from release_api.autoscale.decide import decide
from release_api.autoscale.metrics import Metrics
from release_api.autoscale.model import UNINSTALLING, Decision, Facts, Memory, Verdict
from release_api.autoscale.policy import Policy, PolicyError
from release_api.autoscale.prometheus import Prometheus
from release_api.autoscale.store import Stored
from release_api.autoscale.values import ValuesError, change, replicas
from release_api.names import Key, autoscale_ref
from release_api.scaling import Known, Scalable

SECONDS = 15.0
"""Between two looks."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the autoscaler works with; `prometheus` is None where the server was given no address."""

    kube: Kube
    clock: Clock
    metrics: Metrics
    prometheus: Prometheus | None
    releases: Scalable
    namespace: str | None = None
    """The one that is looked after, None for all."""


class Autoscaler:
    """The loop. Nothing it does raises; what fails is said in the row's holdReason and the log."""

    def __init__(self, parts: Parts, seconds: float = SECONDS) -> None:
        """Remember the parts; nothing runs yet."""
        self._parts, self._seconds = parts, seconds
        self._busy: dict[Key, asyncio.Task[None]] = {}
        self._held: dict[Key, str] = {}
        self._failed: dict[Key, str] = {}
        self._log = structlog.get_logger().bind(loop="autoscale")

    async def run(self) -> None:
        """Look again and again until cancelled; an apply that runs then goes on until `drain`."""
        while True:
            await self.look()
            # Replicas of the server that started together would race for every write.
            await asyncio.sleep(self._seconds * random.uniform(0.9, 1.1))  # noqa: S311 - jitter, not cryptography

    async def look(self) -> None:
        """Read all policies and begin a pass over each release that has one and is not in one."""
        try:
            objects, _version = await self._parts.kube.list(store.selection(self._parts.namespace))
        except ApiError as error:
            self._log.warning("policies not read", status=error.status, error=str(error))
            return
        found = {(obj["metadata"]["namespace"], obj["metadata"]["name"]): obj for obj in objects}
        mine: set[Key] = set()
        for known in self._parts.releases.known():
            ref = autoscale_ref(known.key)
            obj = found.get((known.key[0], ref.name))
            if obj is None:
                continue
            mine.add(known.key)
            if known.key not in self._busy:
                self._begin(store.stored(known.key, obj))
        for key in set(self._held) - mine:
            self._failed.pop(key, None)
            self._hold(key, "")
        self._parts.metrics.looked.set(self._parts.clock.now().timestamp())

    async def settled(self) -> None:
        """Wait until the passes that run have ended."""
        await asyncio.gather(*self._busy.values())

    async def drain(self, seconds: float) -> None:
        """Give running passes so long to end, then cancel them."""
        await finish(self._busy.values, seconds)

    def _begin(self, one: Stored) -> None:
        task = asyncio.create_task(self._one(one))
        self._busy[one.key] = task
        task.add_done_callback(lambda _: self._busy.pop(one.key, None))

    async def _one(self, one: Stored) -> None:
        try:
            hold = await self._pass(one)
        except ApiError as error:
            if error.raced:
                return  # Another replica of the server was faster, or the policy has just changed.
            hold = f"the autoscaler cannot write its memory: {error}"
        except Exception:  # noqa: BLE001 - one broken release must not end the loop for all others
            self._log.exception("unhandled exception in a pass", namespace=one.key[0], release=one.key[1])
            hold = "the autoscaler failed: see the server's log"
        self._hold(one.key, hold)

    async def _pass(self, one: Stored) -> str:
        """Look at one release; return why it is left alone, empty when it is not."""
        hold = guard(self._parts.releases.find(one.key))
        if hold:
            return hold
        try:
            policy = policies.parse(one.data)
            values = await self._parts.releases.values(one.key)
            if values is None:
                return "the values that are applied cannot be read"
            current = {role: replicas(values, policy.path(role)) for role in policy.roles}
        except PolicyError as error:
            return f"policy: {error}"
        except ValuesError as error:
            return str(error)
        return await self._act(one, policy, await self._decide(policy, current, store.memories(one)))

    async def _decide(
        self, policy: Policy, current: Mapping[str, int | None], memories: Mapping[str, Memory]
    ) -> dict[str, Decision]:
        prometheus = self._parts.prometheus
        if prometheus is None:
            said = "the server was given no Prometheus: start it with --prometheus-url"
            return {role: Decision(Verdict.NO_DATA, said, memory=memories.get(role)) for role in policy.roles}
        answers = await asyncio.gather(*(prometheus.ask(role.query) for role in policy.roles.values()))
        now = self._parts.clock.now()
        return {
            name: decide(role, Facts(now, current[name], answer, memories.get(name)))
            for (name, role), answer in zip(policy.roles.items(), answers, strict=True)
        }

    async def _act(self, one: Stored, policy: Policy, decisions: Mapping[str, Decision]) -> str:
        """Keep what was decided, apply it, and return what to hold for."""
        for decision in decisions.values():
            self._parts.metrics.decisions.labels(decision.verdict).inc()
        if store.is_news(one, decisions):
            await store.write(self._parts.kube, one, decisions)
        wanted = {policy.path(n): d.replicas for n, d in decisions.items() if d.replicas is not None}
        if wanted:
            await self._apply(one.key, wanted)
        elif all(decision.verdict is Verdict.ON_TARGET for decision in decisions.values()):
            self._failed.pop(one.key, None)
        blind = (f"{n}: {d.message}" for n, d in decisions.items() if d.verdict is Verdict.NO_DATA)
        return self._failed.get(one.key, "") or "; ".join(blind)

    async def _apply(self, key: Key, wanted: Mapping[str, int]) -> None:
        """Apply, and remember why it did not come to that; the next try is after the cooldown."""
        scaled = await self._parts.releases.scale(key, change(wanted))
        result = "applied" if scaled.applied else "refused" if scaled.refused else "failed"
        self._parts.metrics.applies.labels(result).inc()
        self._log.info("scaled", namespace=key[0], release=key[1], replicas=dict(wanted), result=result)
        if result == "applied":
            self._failed.pop(key, None)
        elif scaled.refused.startswith("uninstall"):
            self._failed[key] = UNINSTALLING  # It turned out so under the lock.
        else:
            self._failed[key] = f"the last change was {result}: {scaled.refused or scaled.error}"

    def _hold(self, key: Key, reason: str) -> None:
        if reason != self._held.get(key, ""):
            self._log.info(
                "holds" if reason else "holds no more", namespace=key[0], release=key[1], why=reason
            )
        self._parts.releases.hold(key, reason or None)
        if reason:
            self._held[key] = reason
        else:
            self._held.pop(key, None)
        self._parts.metrics.held.set(len(self._held))


def guard(known: Known | None) -> str:
    """Say why a release is left alone; empty when it is not. Pure."""
    if known is None:
        return "the release is not there"
    return UNINSTALLING if known.uninstalling else ""

"""How many replicas a role should have: a pure function of the policy, the answer of its query and the clock.

    wanted = ceil(answer / target), within min and max

Nothing is ever decided on an answer that is missing, not a number, or more than one.
"""

import math
from dataclasses import replace
from datetime import UTC, datetime

from release_api.autoscale.model import Decision, Facts, Memory, Reading, Verdict
from release_api.autoscale.policy import Role

_ROUND_OFF = 1e-9
"""1.1 / 0.1 is 11 replicas, not 12, and 33 is a tenth above 30, not more."""


def decide(role: Role, facts: Facts) -> Decision:
    """Decide about one role; the memory in the decision is to be kept, whatever the verdict."""
    problem = unusable(facts.reading)
    if problem:
        return Decision(Verdict.NO_DATA, problem, memory=facts.memory)
    memory = _anchored(facts)
    load = facts.reading.samples[0]
    wanted = _wanted(role, load)
    said = f"{load:g} at {role.target:g} a replica asks for {wanted} (min {role.least}, max {role.most})"
    current = facts.current
    outside = current is None or not role.least <= current <= role.most
    if current is not None and not outside and (wanted == current or _near(role, load, current)):
        return Decision(Verdict.ON_TARGET, said, memory=memory)
    until = _until(role, memory, soon=outside or current is None or wanted > current)
    if until is not None and until > facts.now:
        said = f"{said}; not before {until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        return Decision(Verdict.COOLING, said, memory=memory)
    verdict = Verdict.BOUND if outside else Verdict.SCALE
    return Decision(verdict, said, wanted, Memory(facts.now, scaled=True))


def unusable(reading: Reading) -> str:
    """Say why an answer cannot be decided on; empty when it can."""
    if reading.error:
        return reading.error
    if not reading.samples:
        return "the query returned nothing"
    if len(reading.samples) > 1:
        return f"the query returned {len(reading.samples)} series: make it one, with sum() or max()"
    if not math.isfinite(reading.samples[0]):
        return f"the query returned {reading.samples[0]}, which is no number"
    return ""


def _wanted(role: Role, load: float) -> int:
    # Bounded first: the quotient may be too large, or too small, to be rounded.
    asked = max(0.0, min(load / role.target * (1 - _ROUND_OFF), role.most))
    return max(role.least, math.ceil(asked))


def _near(role: Role, load: float, current: int) -> bool:
    """Whether a replica's load is so close to the target that a change would only flap. None has no load."""
    return current > 0 and abs(load / (role.target * current) - 1) <= role.tolerance + _ROUND_OFF


def _anchored(facts: Facts) -> Memory:
    """Return the memory with a `since` that is not in the future.

    A clock that was set back would otherwise hold the role until it catches up, which may be years: the
    cooldown begins anew instead.
    """
    memory = facts.memory or Memory(facts.now)
    return memory if memory.since <= facts.now else replace(memory, since=facts.now)


def _until(role: Role, memory: Memory, *, soon: bool) -> datetime | None:
    """Return when the cooldown ends; None where there is none.

    `soon` is for more replicas, and for a number that the policy does not allow. Where nothing was changed
    yet that is done at once, but less only when the load has been seen for as long as after a change: it may
    be young.
    """
    if soon:
        return memory.since + role.cooldown.up if memory.scaled else None
    return memory.since + role.cooldown.down

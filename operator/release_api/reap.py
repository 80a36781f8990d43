"""What the check loop does about a release, from what memory knows. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from llm_operator.records import Held
from release_api.models import Backend, Phase


class Next(StrEnum):
    """What to do; each is looked at again on the API server before it is done."""

    WAIT = "wait"
    RESUME = "resume"
    """Go on with an uninstall whose server died."""
    SETTLE = "settle"
    """Find out what became of an apply whose server died."""
    CONFIRM = "confirm"
    """Ask the API server whether it is gone, and clean up if so."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What memory knows of one release."""

    backend: Backend
    phase: Phase
    lock_free: bool
    held: Held = Held.UNKNOWN
    """Whether helm holds the release, as far as the cache knows."""
    service: bool = False
    """Whether an LLMService of its name is there, and not of another UID than the plan's."""
    service_deleting: bool = False
    trusted: bool = True
    """Whether the plan is as this server wrote it: nobody is acted for by the word of another one."""


def decide(facts: Facts) -> Next:
    """Decide; nothing is done while somebody holds the lock."""
    if not facts.lock_free:
        return Next.WAIT
    return _helm(facts) if facts.backend is Backend.HELM else _service(facts)


def _helm(facts: Facts) -> Next:
    if facts.phase is Phase.INSTALLING:
        return Next.SETTLE
    if facts.phase is not Phase.UNINSTALLING or facts.held is Held.UNKNOWN:
        return Next.WAIT
    return _resume(facts) if facts.held is Held.HELD else Next.CONFIRM


def _service(facts: Facts) -> Next:
    if not facts.service:
        return Next.CONFIRM
    if facts.phase is Phase.UNINSTALLING and not facts.service_deleting:
        return _resume(facts)
    return Next.WAIT


def _resume(facts: Facts) -> Next:
    """Go on as the user in the plan; where that cannot be believed, whoever deletes again has to."""
    return Next.RESUME if facts.trusted else Next.WAIT

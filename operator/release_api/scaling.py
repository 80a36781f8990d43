"""What the autoscaler needs of the rest. It knows releases by these methods only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from release_api.models import Backend, Phase
from release_api.names import Key
from release_api.plan import Plan


@dataclass(frozen=True, slots=True)
class Known:
    """A release as it is known now. `plan` is None for an LLMService that was not installed by this API."""

    key: Key
    backend: Backend
    phase: Phase
    uninstalling: bool
    """Its plan is uninstalling, or its LLMService has a deletionTimestamp or status.phase Deleting."""
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class Scaled:
    """What came of an apply. `refused` says why nothing was done: `uninstalling`, `apply in progress` ..."""

    applied: bool
    refused: str = ""
    error: str = ""
    """helm's, when it was run and failed."""


class Scalable(Protocol):
    """Releases, to an autoscaler."""

    def known(self) -> list[Known]:
        """Return every release, from memory."""

    def find(self, key: Key) -> Known | None:
        """Return one release, from memory."""

    def hold(self, key: Key, reason: str | None) -> None:
        """Set what the release's row shows as holdReason; None takes it away."""

    async def values(self, key: Key) -> Mapping[str, Any] | None:
        """Return the values that are applied now; None when they cannot be told. Never raises."""

    async def scale(self, key: Key, values: Mapping[str, Any]) -> Scaled:
        """Apply values over those that are applied, under the apply lock, as the user in the plan.

        Whether the release uninstalls is looked at again under the lock. Never raises.
        """

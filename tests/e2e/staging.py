"""What the tests of staged teardowns share: which stage it is at, and the delete that is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from controlplane.errors import ControlPlaneError

if TYPE_CHECKING:
    from e2e.serving import Serving

STAGES = ["DrainingServices", "RemovingServingStack", "RemovingCluster", "Released"]


def stages(it: Serving) -> list[str]:
    """Return the stages that status.teardown went through, from the watch events."""
    seen: list[str] = []
    for event in it.world.events(it.world.cluster):
        stage = event.object.get("status", {}).get("teardown", {}).get("stage", "")
        if stage and stage not in seen:
            seen.append(stage)
    return seen


def at_stage(it: Serving, stage: str, seconds: float = 120) -> None:
    """Wait until status.teardown is at a stage."""
    it.plane.wait(
        lambda: it.status().get("teardown", {}).get("stage") == stage, f"stage {stage}", seconds, 0.3
    )


def named(it: Serving, text: str) -> bool:
    """Whether an entry of what is waited for has a text in it."""
    return any(text in entry for entry in it.teardown().get("waitingFor", []))


def refuse(it: Serving) -> None:
    """Delete the InferenceCluster; the gate refuses and records it."""

    def answered() -> bool:
        with pytest.raises(ControlPlaneError, match=r"in-use by|failed calling webhook") as refusal:
            it.world.delete("Foreground")
        return "in-use by" in str(refusal.value)  # Else Crossplane is being restarted.

    it.plane.wait(answered, "the gate answers", 120, 1)

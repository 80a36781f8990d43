"""The two ways down that the demo shows: data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """A delete, what is told before it, and a word of the refusal that must answer it ('': accepted)."""

    title: str
    command: str
    refusal: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way down.

    `edit` is what sed changes in the manifest beside the registry, `before` is tried and must change nothing,
    `down` begins the teardown, which goes through `stages` (none: the garbage collector takes it down).
    """

    down: Attempt
    before: tuple[Attempt, ...] = ()
    edit: str = ""
    stages: tuple[str, ...] = ()


MODES = {
    "cascade": Mode(
        before=(
            Attempt(
                "A delete in the background is refused: it would strand what still needs the cluster",
                "kubectl delete ic demo",
                refusal="forceforeground",
            ),
        ),
        down=Attempt(
            "In foreground it goes, in order: every line is a watch event",
            "kubectl delete ic demo --cascade=foreground --wait=false",
        ),
    ),
    "staged": Mode(
        down=Attempt(
            "Staged, a delete is refused and recorded, and carried out: every line is a watch event",
            "kubectl delete ic demo --cascade=foreground",
            refusal="in-use by",
            told="(The function runs on and takes the cluster down stage by stage, told in status.teardown.)",
        ),
        edit="s,Cascade,Staged,",
        stages=("DrainingServices", "RemovingServingStack", "RemovingCluster", "Released"),
    ),
}

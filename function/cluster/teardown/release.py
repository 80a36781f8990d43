"""The end of a teardown: everything is gone, the gate is let go of, and the recorded delete is replayed.

A replay is one try of Crossplane's whose failure is only logged. So the gate is composed once more and let
go of again, three times in all; then a person has to repeat the delete.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from function import moments
from function.cluster.teardown import report
from function.cluster.teardown.removal import GATE
from function.cluster.teardown.request import Stage

if TYPE_CHECKING:
    from function.cluster.teardown.request import Record, Request
    from function.model import Plan
    from function.moments import Moment
    from function.observed import Observed

# A few seconds are usual. After so many a replay counts as lost, and after twice as many a gate that never
# came into force is let go of all the same.
REPLAY_SECONDS = 30

MOST_RELEASES = 3


def release(made: Plan, request: Request, observed: Observed, now: Moment) -> bool:
    """Write the status of the last stages; return whether the gate is composed in this pass."""
    record, gate = request.record, observed.get(GATE)
    waited = moments.seconds_since(record.released_at, now)
    if gate is not None:
        # A gate that is not in force yet replays nothing when it goes.
        if not gate.ready and waited < 2 * REPLAY_SECONDS:
            return _write(made, request, record, gate=True)
        counted = replace(record, releases=record.releases + 1, released_at=moments.text(now))
        return _write(made, request, counted, gate=False)
    if not record.released_at:
        first = replace(record, releases=1, released_at=moments.text(now))
        return _write(made, request, first, gate=False)
    lost = waited >= REPLAY_SECONDS
    again = lost and request.attempt != "" and record.releases < MOST_RELEASES
    return _write(made, request, record, gate=again, over=lost and not again)


def _write(made: Plan, request: Request, record: Record, *, gate: bool, over: bool = False) -> bool:
    if over or record.stage is Stage.DELETION_PENDING:
        command = report.delete(request.name)
        message = f"everything is gone, but the InferenceCluster was not deleted: run `{command}`"
        report.write(made, record, Stage.DELETION_PENDING, [], message)
        return False
    report.write(made, record, Stage.RELEASED, [], "everything is gone; the recorded delete is carried out")
    return gate

"""The plan of an InferenceCluster whose deletion is staged: before, while it waits, and while it goes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from function import moments, remembering, serving, structs
from function.cluster import guard, service_status, services
from function.cluster.teardown import release, removal, report
from function.cluster.teardown.request import ORPHAN, Stage, begins, earlier_attempt
from function.model import MODELPLANE, Carried, Guard, Plan, Ref, Step
from function.retire import retire, without_replay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from function.cluster.teardown.removal import Left
    from function.cluster.teardown.request import Record, Request
    from function.moments import Moment
    from function.observed import Observed
    from function.settings import Settings

_REASON = (
    "spec.deletion.mode is Staged: the delete is recorded and carried out stage by stage, see status.teardown"
)

# What is asked for by name is not watched; so soon is it asked again.
_LOOK_AGAIN_SECONDS = 5
_AT_ONCE_SECONDS = 1

_WRITTEN_ANEW = ("conditions", "services", "teardown", "crossplane")


def take_down(request: Request, observed: Observed, settings: Settings, now: Moment) -> Plan:
    """Plan one pass of a teardown that is underway."""
    made = _as_it_was(request, observed, settings)
    made.ttl_seconds, made.complete = _LOOK_AGAIN_SECONDS, False
    stage = request.record.stage or Stage.DRAINING_SERVICES
    if stage.reached(Stage.RELEASED):
        if release.release(made, request, observed, now):
            _gate(made, request, ())
    else:
        _remove(made, request, observed, stage)
    retire(made, observed)
    return made


def _remove(made: Plan, request: Request, observed: Observed, stage: Stage) -> None:
    left = removal.remove(made, request, observed, stage)
    _services(made, request, observed, left)
    if left.empty:
        stage, made.ttl_seconds = stage.following, _AT_ONCE_SECONDS
    lines = report.waiting(left.there, left.unknown)
    report.write(made, request.record, stage, lines, report.count(lines))
    _gate(made, request, left.refs)


def _services(made: Plan, request: Request, observed: Observed, left: Left) -> None:
    """Show the services until they are gone, those that left the list before the teardown too."""
    known = serving.published(request.composite)
    found = service_status.departed(made, observed, request.name, known, set())
    service_status.conclude(made, (service_status.entry(at, carrier) for at, carrier in found.items()))
    for at, carrier in found.items():
        if carrier is None:
            left.unknown.add(services.object_ref(request.name, serving.key(*at)))
        else:
            left.there[carrier.ref] = carrier


def frozen(request: Request, observed: Observed, settings: Settings) -> Plan:
    """Plan everything again as it is: it needs no valid spec."""
    made = _as_it_was(request, observed, settings)
    for key, resource in removal.ours(observed):
        made.add(Step(key, Carried(resource.body), ready=resource.ready))
    retire(made, observed)
    return made


def _as_it_was(request: Request, observed: Observed, settings: Settings) -> Plan:
    """Plan the guard, and the status of before: a field that is left out would be taken away."""
    made = Plan()
    guard.add(made, request.name, observed, settings)
    status = structs.block(request.composite, "status")
    if status is not None:
        made.status = {k: structs.plain(v) for k, v in status.fields.items() if k not in _WRITTEN_ANEW}
    return made


def stand_by(made: Plan, request: Request, observed: Observed, now: Moment) -> None:
    """Add to the plan of a living InferenceCluster what its deletion mode asks for."""
    gate = observed.get(removal.GATE)
    if not request.staged:
        if gate is not None:
            without_replay(made, removal.GATE, gate)
        if gate is not None or request.record.stage is not None:
            report.not_requested(made)
        return
    earlier = earlier_attempt(request, gate)
    if begins(request, gate):
        _begin(made, request, now)
    elif earlier:
        report.earlier(made, request.name)
    elif request.attempt == ORPHAN:
        report.cannot_orphan(made, request.name)
    else:
        report.not_requested(made)
    _gate(made, request, (), earlier)


def _begin(made: Plan, request: Request, now: Moment) -> None:
    started = request.record.started_at or moments.text(now)
    record: Record = replace(request.record, started_at=started)
    if not made.in_use:
        made.ttl_seconds = _AT_ONCE_SECONDS
        report.write(made, record, Stage.DRAINING_SERVICES, [], "nobody uses the InferenceCluster")
        return
    made.ttl_seconds = _LOOK_AGAIN_SECONDS
    users = made.conditions["DeletionProtected"].message or "it is not known yet who uses it"
    message = f"{users}; to cancel, run `{report.cancel(request.name)}`"
    report.write(made, record, Stage.WAITING_FOR_USERS, list(made.users), message)


def _gate(made: Plan, request: Request, remembered: Iterable[Ref], earlier: str = "") -> None:
    protected = Ref(MODELPLANE, "InferenceCluster", request.name)
    gate = Guard(protected, _REASON, remembering.encode(remembered), earlier)
    made.add(Step(removal.GATE, gate, ready=True))

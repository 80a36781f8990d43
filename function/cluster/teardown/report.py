"""Words and fields about a teardown: status.teardown and the Teardown condition. Pure.

Times are absolute and lists are sorted: a pass that saw nothing new writes nothing new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import structs
from function.cluster.teardown.request import Stage
from function.model import ATTEMPT_ANNOTATION, Condition
from function.wording import MOST_NAMED, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from function.cluster.teardown.request import Record
    from function.model import Plan, Ref
    from function.observed import Resource
    from function.structs import Plain

_LONGEST_WHY = 300

NOT_REQUESTED = "NotRequested"


def waiting(there: Mapping[Ref, Resource], unknown: Iterable[Ref]) -> list[str]:
    """Describe what is waited for, one line each, sorted: since when it goes, and why it has not gone."""
    lines = [_line(ref, found) for ref, found in there.items()]
    return sorted([*lines, *(f"{ref}: not looked up yet" for ref in unknown if ref not in there)])


def _line(ref: Ref, found: Resource) -> str:
    since = structs.text(found.body, "metadata", "deletionTimestamp")
    name = _service(found) or str(ref)
    state = f"{name}, deleting since {since}" if since else f"{name}, not deleted yet"
    why = _why(found)
    return f"{state}: {why}" if why else state


def _service(found: Resource) -> str:
    """Name the LLMService that an Object carries; the Object's own name says little."""
    manifest = structs.block(found.body, "spec", "forProvider", "manifest")
    if manifest is None or structs.text(manifest, "kind") != "LLMService":
        return ""
    namespace, name = (structs.text(manifest, "metadata", field) for field in ("namespace", "name"))
    return f"LLMService {namespace}/{name}"


def _why(found: Resource) -> str:
    service = structs.block(found.body, "status", "atProvider", "manifest", "status", "deletion")
    if service is not None and (stage := structs.text(service, "stage")):
        return _short(f"{stage}, {structs.text(service, 'message')}".rstrip(", "))
    for kind in ("Synced", "Ready"):
        for entry in structs.blocks(found.body, "status", "conditions"):
            seen = structs.text(entry, "type"), structs.text(entry, "status")
            if seen == (kind, "False") and (message := structs.text(entry, "message")):
                return _short(message)
    return ""


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _LONGEST_WHY else line[: _LONGEST_WHY - 3] + "..."


def write(made: Plan, record: Record, stage: Stage, lines: list[str], message: str) -> None:
    """Write status.teardown and the condition."""
    fields: dict[str, Plain] = {"stage": stage.value, "startedAt": record.started_at}
    if lines:
        fields["waitingFor"] = [*lines[:MOST_NAMED]]
    if message:
        fields["message"] = message
    if record.releases:
        fields |= {"releases": record.releases, "releasedAt": record.released_at}
    made.status["teardown"] = fields
    made.conclude(Condition("Teardown", status=True, reason=stage.value, message=message))


def count(lines: list[str]) -> str:
    """Return the message for so many objects that are waited for."""
    if not lines:
        return ""
    return f"waiting for {len(lines)} object{'s' if len(lines) > 1 else ''} to go: {listed(lines)}"


def not_requested(made: Plan) -> None:
    """Say that nothing was asked for."""
    made.conclude(Condition("Teardown", status=False, reason=NOT_REQUESTED))


def cannot_orphan(made: Plan, name: str) -> None:
    """Say what to do about an orphaning delete: staged, it would take down what it was to keep."""
    message = (
        "a delete that orphans what is composed was refused, since spec.deletion.mode is Staged: to keep "
        f"everything, run `kubectl patch inferencecluster {name} --type merge "
        """-p '{"spec":{"deletion":{"mode":"Cascade"}}}'` and repeat it; """
        f"to cancel it, run `{cancel(name)}`"
    )
    made.conclude(Condition("Teardown", status=False, reason=Stage.DELETION_PENDING.value, message=message))


def earlier(made: Plan, name: str) -> None:
    """Say what to do about an attempt that is older than the mode."""
    message = (
        "a delete was refused and recorded before spec.deletion.mode was Staged, and is not carried out: to "
        f"forget it, run `{cancel(name)}`; to delete now, run that and then `{delete(name)}`"
    )
    made.conclude(Condition("Teardown", status=False, reason=Stage.DELETION_PENDING.value, message=message))


def cancel(name: str) -> str:
    """Return the command that takes a recorded attempt off."""
    return f"kubectl annotate inferencecluster {name} {ATTEMPT_ANNOTATION}-"


def delete(name: str) -> str:
    """Return the command that deletes."""
    return f"kubectl delete inferencecluster {name} --cascade=foreground"

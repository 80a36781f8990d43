"""What the API server's audit log says about a namespace: the witness for order and number of calls."""

from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.kube import Object
from controlplane.plane import Plane

ACCOUNT_USER = "system:serviceaccount:llm-operator-system:llmservice-controller"


@dataclass(frozen=True)
class Call:
    """One call that was answered: who (`controller`, `helm` or a user name), what, and how it went."""

    who: str
    verb: str
    resource: str
    name: str
    code: int
    moment: str

    def __str__(self) -> str:
        """Name the call as cases do: `controller delete modelroutes`."""
        return f"{self.who} {self.verb} {self.resource}"


def calls(plane: Plane, namespace: str | None = None) -> list[Call]:
    """Return the answered calls on a namespace's objects so far, in the order in which they came in."""
    found = [_call(event) for event in _answered(plane, namespace) if _about(event, namespace)]
    return sorted(found, key=lambda call: call.moment)


def changes(plane: Plane, namespace: str) -> list[Call]:
    """Return the successful writes of controller and helm, events and leases left out."""
    reads = ("get", "list", "watch")
    return [
        call
        for call in calls(plane, namespace)
        if call.who in ("controller", "helm")
        and call.verb not in reads
        and call.resource not in ("events", "leases")
        and call.code < 400
    ]


def _answered(plane: Plane, namespace: str | None) -> Iterator[Object]:
    """Return the events with an answer; those that cannot be about the namespace are not even parsed."""
    events = plane.audit((namespace,) if namespace else ())
    return (event for event in events if event["stage"] == "ResponseComplete" and "objectRef" in event)


def _about(event: Object, namespace: str | None) -> bool:
    return namespace is None or event["objectRef"].get("namespace") == namespace


def _call(event: Object) -> Call:
    ref = event["objectRef"]
    resource = ref["resource"] + (f"/{ref['subresource']}" if ref.get("subresource") else "")
    return Call(
        who=_who(event),
        verb=event["verb"],
        resource=resource,
        name=ref.get("name", ""),
        code=int(event["responseStatus"]["code"]),
        moment=event["requestReceivedTimestamp"],
    )


def _who(event: Object) -> str:
    user = str(event["user"]["username"])
    if user != ACCOUNT_USER:
        return user
    return "helm" if event.get("userAgent", "").startswith("Helm/") else "controller"

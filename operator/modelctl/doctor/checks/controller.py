"""Whether the LLMService controller runs: without it no LLMService ever goes."""

from collections.abc import Iterator

from modelctl.doctor.finding import Finding, View, error
from modelctl.snapshot.kinds import CONTROLLER, CONTROLLER_NAMESPACE, SERVING
from modelctl.snapshot.objects import Manifest, block, deleting, group, name, namespace

_REPLICAS = 2
INSTALL = "kubectl apply -k operator/deploy/"
"""In a clone of this project, as its README says."""


def running(view: View) -> Iterator[Finding]:
    """Demand that a replica holds the Lease where LLMServices are."""
    kinds = {("apps", "Deployment"), ("coordination.k8s.io", "Lease")}
    services = view.snapshot.of(group(SERVING), "LLMService")
    if not services or kinds & set(view.snapshot.unread) or _led(view):
        return
    going = sum(bool(deleting(service)) for service in services)
    waits = f"; {going} of {len(services)} LLMServices wait for it to go" if going else ""
    found = next((o for o in view.snapshot.of("apps", "Deployment") if _is_controller(o)), None)
    if found is None:
        yield error(f"Deployment {CONTROLLER_NAMESPACE}/{CONTROLLER}", f"is not installed{waits}", INSTALL)
        return
    what, at = f"Deployment {namespace(found)}/{name(found)}", f"{name(found)} -n {namespace(found)}"
    if not block(found.get("spec")).get("replicas"):
        command = f"kubectl scale deployment {at} --replicas={_REPLICAS}"
        yield error(what, f"is scaled to nothing{waits}", command)
    else:
        yield error(what, f"no replica leads{waits}", f"kubectl describe deployment {at}")


def _is_controller(deployment: Manifest) -> bool:
    """Whether it is one, by its label: Helm calls it after its release, a ServingStack after itself."""
    return block(block(deployment["metadata"]).get("labels")).get("app.kubernetes.io/name") == CONTROLLER


def _led(view: View) -> bool:
    """Whether somebody renews a Lease of a controller; each lease says how long it holds."""
    return any(_held(view, lease) for lease in view.snapshot.of("coordination.k8s.io", "Lease"))


def _held(view: View, lease: Manifest) -> bool:
    spec = block(lease.get("spec"))
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return False
    # Twice, since clocks differ and a renewal may be a moment late.
    return view.snapshot.age(spec["renewTime"]).total_seconds() < 2 * int(
        spec.get("leaseDurationSeconds") or 15
    )

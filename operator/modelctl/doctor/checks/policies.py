"""Whether the admission policies are installed, bound and refuse."""

from collections.abc import Iterator

from modelctl.doctor import repair
from modelctl.doctor.finding import Finding, View, error, warning
from modelctl.snapshot.kinds import ADMISSION
from modelctl.snapshot.objects import Manifest, annotation, group, name, ref

_GROUP = group(ADMISSION)
POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
POLICIES = ("forceforeground", "protect-platform")
INSTALL = "kubectl apply -k policies/"
"""In a clone of this project, as its README says."""

BREAK_GLASS = (
    "policies.modelplane.ai/allow-background-deletion",
    "policies.modelplane.ai/allow-deletion",
)


def enforced(view: View) -> Iterator[Finding]:
    """Demand each policy, a binding of it, and that the binding denies."""
    if {(_GROUP, POLICY), (_GROUP, BINDING)} & set(view.snapshot.unread):
        return
    found = {name(o): o for o in view.snapshot.of(_GROUP, POLICY)}
    for policy in POLICIES:
        if policy not in found:
            yield error(f"{POLICY} {policy}", "is not installed: it refuses no delete", INSTALL)
            continue
        if found[policy]["spec"].get("failurePolicy") != "Fail":
            what = "lets a delete pass when it cannot be judged: its failurePolicy is not Fail"
            yield error(
                f"{POLICY} {policy}", what, repair.merge(found[policy], {"spec": {"failurePolicy": "Fail"}})
            )
        yield from _bound(view, policy)


def _bound(view: View, policy: str) -> Iterator[Finding]:
    bindings = [b for b in view.snapshot.of(_GROUP, BINDING) if b["spec"].get("policyName") == policy]
    if not bindings:
        yield error(f"{POLICY} {policy}", "is bound nowhere: it refuses nothing", INSTALL)
    elif not any(_denies(binding) for binding in bindings):
        actions = ", ".join(bindings[0]["spec"].get("validationActions") or ("nothing",))
        what = f"does not refuse: its validationActions are {actions}, not Deny"
        command = repair.merge(bindings[0], {"spec": {"validationActions": ["Deny"]}})
        yield error(f"{BINDING} {name(bindings[0])}", what, command)


def _denies(binding: Manifest) -> bool:
    """Whether a binding refuses, everywhere."""
    return "Deny" in (binding["spec"].get("validationActions") or ()) and not binding["spec"].get(
        "matchResources"
    )


def break_glass(view: View) -> Iterator[Finding]:
    """Tell of each object that was let past the policies: it should not stay so."""
    for found in view.snapshot.objects.values():
        for one in found:
            for key in BREAK_GLASS:
                if annotation(one, key) == "true":
                    what = f"the annotation {key} lets any delete of it past the policies"
                    yield warning(ref(one), what, repair.unannotate(one, key))

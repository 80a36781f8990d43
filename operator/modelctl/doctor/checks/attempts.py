"""Deletes that were refused and are recorded, and those that should have been carried out and were not."""

from collections.abc import Iterator

from function.model import ATTEMPT_ANNOTATION, MODELPLANE
from modelctl.doctor import repair
from modelctl.doctor.finding import Finding, View, error, warning
from modelctl.snapshot.objects import (
    Manifest,
    Snapshot,
    annotation,
    block,
    condition,
    deleting,
    group,
    ref,
)

PENDING = "DeletionPending"


def recorded(view: View) -> Iterator[Finding]:
    """Tell of each recorded delete: it is carried out when the last Usage goes, dry runs included."""
    for found in view.snapshot.objects.values():
        for one in found:
            policy = annotation(one, ATTEMPT_ANNOTATION)
            if policy and not deleting(one) and not stage(one):
                yield warning(
                    ref(one), _said(view.snapshot, one, policy), repair.unannotate(one, ATTEMPT_ANNOTATION)
                )


def _said(snapshot: Snapshot, one: Manifest, policy: str) -> str:
    refused = f"a delete ({policy}) of it was refused and is recorded"
    if condition(one, "Teardown").get("reason") == PENDING:
        return f"{refused}, and is not carried out; to forget it"
    holders = snapshot.holders(one)
    if not holders:
        return f"{refused}, and nothing holds it any more, so nobody will carry it out; to forget it"
    by = sorted(str(usage.by or ref(usage.manifest)) for usage in holders)
    more = f" and {len(by) - 1} more" if len(by) > 1 else ""
    return f"{refused}; it is carried out when {by[0]}{more} is gone; to take it back"


def stage(cluster: Manifest) -> str:
    """Return the stage of a staged teardown, empty where there is none."""
    return str(block(block(cluster.get("status")).get("teardown")).get("stage") or "")


def lost(view: View) -> Iterator[Finding]:
    """Tell where everything is gone, and Crossplane's replay of the delete came to nothing."""
    for cluster in view.snapshot.of(group(MODELPLANE), "InferenceCluster"):
        if stage(cluster) == PENDING and not deleting(cluster):
            what = "all that it composed is gone, but the recorded delete of itself was lost"
            yield error(ref(cluster), what, repair.delete(cluster))

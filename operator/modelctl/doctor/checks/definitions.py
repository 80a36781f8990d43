"""XRDs that a Configuration left behind: no other Configuration can take them over."""

from collections.abc import Iterator

from function.model import Ref
from modelctl.doctor import repair
from modelctl.doctor.finding import Finding, View, error
from modelctl.snapshot.kinds import PACKAGES
from modelctl.snapshot.objects import ref


def owned(view: View) -> Iterator[Finding]:
    """Tell of an owner that is gone: it keeps the next Configuration out, and the collector deletes."""
    for definition in view.snapshot.kind("CompositeResourceDefinition"):
        for number, owner in enumerate(definition["metadata"].get("ownerReferences") or ()):
            revision = Ref(PACKAGES, "ConfigurationRevision", str(owner.get("name")))
            if owner.get("kind") == revision.kind and view.snapshot.gone(revision):
                what = f"is owned by {revision}, which is gone: no other Configuration can take it over"
                command = repair.without(definition, "ownerReferences", number, dict(owner))
                yield error(ref(definition), what, command)
                break

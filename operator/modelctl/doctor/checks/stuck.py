"""Deletions that take too long: each with the reason and the next command.

Only roots are told: what waits for something that is itself being deleted is no news.
"""

from collections.abc import Iterator

from function.model import Ref
from modelctl.doctor import expected, logins, repair
from modelctl.doctor.finding import Finding, View, error, warning
from modelctl.snapshot.kinds import CLUSTER_KINDS
from modelctl.snapshot.objects import (
    PAUSED,
    Manifest,
    Snapshot,
    block,
    condition,
    controller,
    deleting,
    group,
    name,
    namespace,
    paused,
    ref,
    uid,
    why,
)

_KINDS = (
    "InferenceCluster",
    "ServingStack",
    "Object",
    "Release",
    "ProviderConfig",
    "ClusterProviderConfig",
    "Usage",
    "ClusterUsage",
    "LLMService",
    "CompositeResourceDefinition",
    *CLUSTER_KINDS,
)
_RECORDS = ("ProviderConfigUsage", "Usage", "ClusterUsage")
_IN_USE = "in-use.crossplane.io"
_MANAGED = "finalizer.managedresource.crossplane.io"
_KNOWN = ("crossplane.io", "kubernetes.io", "k8s.io")


def deletions(view: View) -> Iterator[Finding]:
    """Judge each deletion that is older than anything should take."""
    for one in view.snapshot.kind(*_KINDS):
        if view.late(deleting(one)):
            yield from _judge(view, one)


def _judge(view: View, one: Manifest) -> Iterator[Finding]:
    """Take the first reason that applies."""
    snapshot, since = view.snapshot, f"is being deleted since {deleting(one)}"
    if paused(one):
        yield error(ref(one), f"{since} and is paused: nobody finalizes it", repair.unannotate(one, PAUSED))
        return
    holders = snapshot.holders(one)
    if holders:
        yield from _held(view, one)
        return
    if _below(snapshot, one):
        return
    foreign = _foreign(snapshot, one)
    login = _login(snapshot, one)
    if foreign:
        what = f"{since} and keeps the finalizer {foreign}, whose controller is not installed any more"
        yield error(ref(one), what, repair.without_finalizer(one, foreign))
    elif login is not None:
        yield error(ref(one), f"{since}: {login[0]}", login[1])
    elif _unused(snapshot, one):
        what = f"{since} and keeps the finalizer {_IN_USE}, but nothing uses it: its provider does not look"
        yield error(ref(one), what, repair.without_finalizer(one, _IN_USE))
    elif one["kind"] not in ("Usage", "ClusterUsage"):
        yield warning(ref(one), f"{since}: {_why(one)}", repair.describe(one))


def _held(view: View, one: Manifest) -> Iterator[Finding]:
    """Tell of a holder that stays: one that goes is told itself, one that never was is a stale Usage."""
    for usage in view.snapshot.holders(one):
        if usage.by is None:
            what = f"is being deleted since {deleting(one)}, and {ref(usage.manifest)} refuses it"
            yield warning(ref(one), what, repair.describe(usage.manifest))
            return
        user = view.snapshot.find(usage.by)
        if user is not None and not deleting(user):
            what = (
                f"is being deleted since {deleting(one)} and waits for {usage.by}, which is not being deleted"
            )
            yield warning(ref(one), what, repair.describe(user))
            return


def _below(snapshot: Snapshot, one: Manifest) -> bool:
    """Whether it waits for something that it owns: for all of that in foreground, else for what goes too."""
    owned = (
        other
        for found in snapshot.objects.values()
        for other in found
        if other["kind"] not in _RECORDS
        and uid(one) in {str(owner.get("uid")) for owner in other["metadata"].get("ownerReferences") or ()}
    )
    foreground = "foregroundDeletion" in (one["metadata"].get("finalizers") or ())
    return any(foreground or deleting(other) for other in owned)


def _foreign(snapshot: Snapshot, one: Manifest) -> str:
    """Return a finalizer whose domain serves no API any more: nothing is left that would take it off."""
    for finalizer in one["metadata"].get("finalizers") or ():
        domain = str(finalizer).partition("/")[0]
        if "/" not in str(finalizer) or any(domain == k or domain.endswith(f".{k}") for k in _KNOWN):
            continue
        if snapshot.groups and not any(_within(served, domain) for served in snapshot.groups):
            return str(finalizer)
    return ""


def _within(served: str, domain: str) -> bool:
    return served == domain or served.endswith(f".{domain}") or domain.endswith(f".{served}")


def _login(snapshot: Snapshot, one: Manifest) -> tuple[str, str] | None:
    """Return what keeps a Release or Object from logging in to where it finalizes, and the way out."""
    config = expected.config_of(one) if one["kind"] in ("Release", "Object") else None
    if config is None:
        return None
    found = snapshot.find(config)
    if found is not None:
        for secret, key in logins.secrets(found):
            if snapshot.gone(secret):
                what = f"{secret} of its {config} is missing; put the {key} in the file {secret.name}.{key}"
                return what, repair.supply_secret(secret, key)
        return None
    return _without_config(snapshot, one, config)


def _without_config(snapshot: Snapshot, one: Manifest, config: Ref) -> tuple[str, str] | None:
    if not snapshot.gone(config):
        return None
    owner = snapshot.by_uid(controller(one))
    if owner is not None and not deleting(owner):
        what = f"its {config} is gone, and {ref(owner)} has not composed it again"
        return what, repair.recompose(snapshot, owner)
    if _MANAGED not in (one["metadata"].get("finalizers") or ()):
        return None
    what = (
        f"its {config} is gone, so it can never log in again; what it manages stays, if its cluster is still "
        "there: look first, then give it up"
    )
    return what, repair.without_finalizer(one, _MANAGED)


def _unused(snapshot: Snapshot, one: Manifest) -> bool:
    """Whether a ProviderConfig keeps its provider's mark although no record of a use is left."""
    if _IN_USE not in (one["metadata"].get("finalizers") or ()):
        return False
    kind = (group(one["apiVersion"]), "ProviderConfigUsage")
    if kind not in snapshot.objects or kind in snapshot.unread:
        return False
    return not any(_uses(record, one) for record in snapshot.of(*kind))


def _uses(record: Manifest, config: Manifest) -> bool:
    """Whether a ProviderConfigUsage may mean this ProviderConfig; in doubt it does."""
    elsewhere = namespace(config) and namespace(record) != namespace(config)
    return not elsewhere and block(record.get("providerConfigRef")).get("name") == name(config)


def _why(one: Manifest) -> str:
    service = block(block(one.get("status")).get("deletion"))
    if service.get("stage"):
        return f"{service['stage']}, {service.get('message') or ''}".rstrip(", ")
    kept = ", ".join(map(str, one["metadata"].get("finalizers") or ()))
    said = why(one) or " ".join(str(condition(one, "Deleting").get("message") or "").split())
    return f"{said or 'it does not say why'} (finalizers: {kept or 'none'})"

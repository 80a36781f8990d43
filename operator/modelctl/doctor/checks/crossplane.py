"""Whether Crossplane is there, and whether its webhook refuses what Usages protect."""

from collections.abc import Iterator

from function.model import PROTECTION, Ref
from modelctl.doctor import repair
from modelctl.doctor.finding import Finding, View, error
from modelctl.snapshot.kinds import ADMISSION
from modelctl.snapshot.objects import Snapshot, block, group, name

WEBHOOK = "crossplane-no-usages"
_DEPLOYMENT = Ref("apps/v1", "Deployment", "crossplane", "crossplane-system")
_INSTALL = (
    "helm upgrade --install crossplane crossplane --repo https://charts.crossplane.io/stable "
    "--namespace crossplane-system --create-namespace"
)


def served(view: View) -> Iterator[Finding]:
    """Demand the Usages of Crossplane 2: every order rests on them."""
    if view.snapshot.groups and group(PROTECTION) not in view.snapshot.groups:
        yield error("Crossplane", f"Usages ({PROTECTION}) are not served: Crossplane 2 is needed", _INSTALL)


def webhook(view: View) -> Iterator[Finding]:
    """Demand the webhook: without it a Usage refuses nothing."""
    kind = (group(ADMISSION), "ValidatingWebhookConfiguration")
    if kind in view.snapshot.unread or group(PROTECTION) not in view.snapshot.groups:
        return
    found = next((o for o in view.snapshot.of(*kind) if name(o) == WEBHOOK), None)
    if found is None:
        restart = "kubectl rollout restart deployment crossplane -n crossplane-system"
        what = (
            "is missing: Usages refuse no delete; Crossplane creates it when it starts with webhooks enabled"
        )
        yield error(f"ValidatingWebhookConfiguration {WEBHOOK}", what, restart)
        return
    for number, hook in enumerate(found.get("webhooks") or ()):
        if hook.get("failurePolicy") != "Fail":
            what = "lets deletes pass while Crossplane does not answer: its failurePolicy is not Fail"
            command = repair.set_field(found, f"/webhooks/{number}/failurePolicy", "Fail")
            yield error(f"ValidatingWebhookConfiguration {WEBHOOK}", what, command)


def facts(snapshot: Snapshot) -> dict[str, object]:
    """Return version and features of Crossplane, as far as the API shows them."""
    deployments = snapshot.of("apps", "Deployment")
    own = next((o for o in deployments if name(o) == _DEPLOYMENT.name), None)
    labelled = [*((own,) if own else ()), *snapshot.of("rbac.authorization.k8s.io", "ClusterRole")]
    labels = (block(o["metadata"].get("labels")) for o in labelled)
    version = next((str(v) for one in labels if (v := one.get("app.kubernetes.io/version"))), "unknown")
    containers = block(block(block(own or {}).get("spec")).get("template")).get("spec") or {}
    flags = [
        str(a) for c in containers.get("containers") or () for a in c.get("args") or () if "enable" in str(a)
    ]
    features = {"Usages": group(PROTECTION), "Operations": "ops.crossplane.io"}
    return {
        "version": version,
        "features": sorted(feature for feature, served in features.items() if served in snapshot.groups),
        "flags": sorted(flags),
    }

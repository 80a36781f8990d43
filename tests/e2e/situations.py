"""The table of broken situations: what is broken, what doctor has to name, and what belongs to nobody after.

Each is told by its `id`; what one needs besides the living cluster it makes itself, under its own name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from e2e.zoo import ADMISSION, FUNCTION, PROVIDER, Situation, head, true
from support.world import (
    CLUSTER,
    CLUSTER_USAGE,
    CONFIG_MAP,
    HELM_CONFIG,
    KUBERNETES_CONFIG,
    OBJECT,
    SECRET,
    STACK,
    SYSTEM,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from e2e.zoo import Zoo

POLICY = (ADMISSION, "ValidatingAdmissionPolicy")
BINDING = (ADMISSION, "ValidatingAdmissionPolicyBinding")
WEBHOOK = (ADMISSION, "ValidatingWebhookConfiguration")
XRD = ("apiextensions.crossplane.io/v2", "CompositeResourceDefinition")
OURS = "function-inference-cluster"
PAUSED = "crossplane.io/paused"
BREAK_GLASS = "policies.modelplane.ai/allow-background-deletion"
HOLD = "uninstalled.example.org/hold"


def named(*objects: str) -> Callable[[Zoo], tuple[str, ...]]:
    """Name objects that are the same in every run."""
    return lambda _: objects


def cluster(zoo: Zoo) -> tuple[str, ...]:
    """Name the living cluster."""
    return (f"InferenceCluster {zoo.world.name}",)


def stack(zoo: Zoo) -> tuple[str, ...]:
    """Name its ServingStack."""
    return (f"ServingStack {SYSTEM}/{zoo.world.stack}",)


# The installation


def binding_audits(zoo: Zoo) -> None:
    """Roll a policy back to audit."""
    zoo.patch(BINDING, "foregroundbinding", {"spec": {"validationActions": ["Audit"]}})


def binding_deleted(zoo: Zoo) -> None:
    """Take a policy's binding away."""
    zoo.delete(BINDING, "protect-platform", "")


def policy_ignores(zoo: Zoo) -> None:
    """Let everything pass that a policy cannot judge."""
    zoo.patch(POLICY, "protect-platform", {"spec": {"failurePolicy": "Ignore"}})


def webhook_ignores(zoo: Zoo) -> None:
    """Let everything pass while the webhook does not answer."""
    path = "/webhooks/0/failurePolicy"
    zoo.patch(WEBHOOK, "crossplane-no-usages", [{"op": "replace", "path": path, "value": "Ignore"}])


def function_inactive(zoo: Zoo) -> None:
    """Take the revision back by hand, and activate no other one."""
    zoo.patch(FUNCTION, OURS, {"spec": {"revisionActivationPolicy": "Manual"}})
    for revision in zoo.api.list("pkg.crossplane.io/v1", "FunctionRevision"):
        if revision["metadata"]["labels"]["pkg.crossplane.io/package"] == OURS:
            kind = ("pkg.crossplane.io/v1", "FunctionRevision")
            zoo.patch(kind, revision["metadata"]["name"], {"spec": {"desiredState": "Inactive"}})


def function_automatic(zoo: Zoo) -> None:
    """Go back to how it was installed."""
    zoo.patch(FUNCTION, OURS, {"spec": {"revisionActivationPolicy": "Automatic"}})


def function_unknown(zoo: Zoo) -> None:
    """Ask for a version that nobody has."""
    package = "xpkg.crossplane.io/function/inference-cluster:v9.9.9"
    zoo.patch(FUNCTION, OURS, {"spec": {"package": package}})
    zoo.wait(lambda: not true(zoo.find(FUNCTION, OURS, ""), "Installed"), "the package cannot be had")


def provider_twice(zoo: Zoo) -> None:
    """Install a provider again, under the name that a Configuration gives it."""
    package = zoo.api.get(*PROVIDER, "provider-helm")["spec"]["package"]
    zoo.api.create({**head(PROVIDER, "provider-helm-again"), "spec": {"package": package}})


def definition_orphaned(zoo: Zoo) -> None:
    """Let the Configuration go while something keeps its XRD."""
    name = "orphans.zoo.example.org"
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
    version = {"name": "v1", "served": True, "referenceable": True, "schema": schema}
    names = {"kind": "Orphan", "plural": "orphans"}
    spec = {"group": "zoo.example.org", "names": names, "scope": "Namespaced", "versions": [version]}
    zoo.api.create({**head(XRD, name), "spec": spec})
    of = {"apiVersion": XRD[0], "kind": XRD[1], "resourceRef": {"name": name}}
    zoo.api.create({**head(CLUSTER_USAGE, "orphans"), "spec": {"of": of, "reason": "in use"}})
    zoo.protected(XRD, name, "")
    owner = {"apiVersion": "pkg.crossplane.io/v1", "kind": "ConfigurationRevision", "name": "uninstalled"}
    owners = [{**owner, "uid": "7d3f6f0a-0000-4000-8000-000000000000", "controller": True}]
    zoo.patch(XRD, name, {"metadata": {"ownerReferences": owners}})


def definition_gone(zoo: Zoo) -> None:
    """Take the XRD of this situation away."""
    zoo.delete(CLUSTER_USAGE, "orphans", "")
    zoo.gone(CLUSTER_USAGE, "orphans", "")
    zoo.annotate(XRD, "orphans.zoo.example.org", "policies.modelplane.ai/allow-deletion")
    zoo.delete(XRD, "orphans.zoo.example.org", "")


# Usages


def stack_paused(zoo: Zoo) -> None:
    """Take a Usage away: a paused ServingStack does not compose it again."""
    zoo.annotate(STACK, zoo.world.stack, PAUSED, SYSTEM)
    zoo.lose_usage("ProviderConfig", zoo.world.leaf("settings").name)


def cluster_paused(zoo: Zoo) -> None:
    """Take the Usage of the cluster away, and pause the InferenceCluster."""
    zoo.annotate(CLUSTER, zoo.world.name, PAUSED)
    zoo.lose_usage("EKSCluster", zoo.world.stack)


def user_orphaned(zoo: Zoo) -> None:
    """Protect an object until something is gone that never was."""
    zoo.config("orphaned")
    zoo.object("orphaned-used", "orphaned")
    zoo.usage("orphaned", "orphaned-used", "ghost")
    zoo.refused(OBJECT, "orphaned-used")


def let_go(name: str) -> Callable[[Zoo], None]:
    """Delete a ProviderConfig, and the Object that is left on it."""

    def clean(zoo: Zoo) -> None:
        if zoo.find(OBJECT, f"{name}-used"):
            zoo.delete(OBJECT, f"{name}-used")
        if zoo.find(KUBERNETES_CONFIG, name):
            zoo.delete(KUBERNETES_CONFIG, name)

    return clean


# Deletions


def object_paused(zoo: Zoo) -> None:
    """Pause an Object, then delete it: nobody finalizes it."""
    zoo.config("paused")
    zoo.object("paused-used", "paused")
    zoo.annotate(OBJECT, "paused-used", PAUSED, SYSTEM)
    zoo.delete(OBJECT, "paused-used")


def foreign_finalizer(zoo: Zoo) -> None:
    """Keep a finalizer whose controller is not there any more."""
    zoo.config("foreign")
    zoo.object("foreign-used", "foreign", (HOLD,))
    zoo.delete(OBJECT, "foreign-used")


def secret_missing(zoo: Zoo) -> None:
    """Name a Secret that is not there."""
    zoo.write_kubeconfig("missing")
    zoo.config("missing", "missing")


def secret_deleted(zoo: Zoo) -> None:
    """Delete the Secret first: the Object that needs it cannot finalize."""
    zoo.write_kubeconfig("deleted")
    zoo.api.create({**head(SECRET, "deleted", SYSTEM), "stringData": {"kubeconfig": zoo.kubeconfig()}})
    zoo.config("deleted", "deleted")
    zoo.object("deleted-used", "deleted", owns=True)
    zoo.delete(SECRET, "deleted")
    zoo.delete(OBJECT, "deleted-used")
    zoo.delete(CONFIG_MAP, "deleted-used")


def config_lost(zoo: Zoo) -> None:
    """Delete the ProviderConfig first, its mark taken off by hand."""
    zoo.config("lost")
    zoo.object("lost-used", "lost", owns=True)
    zoo.delete(KUBERNETES_CONFIG, "lost")
    zoo.patch(KUBERNETES_CONFIG, "lost", {"metadata": {"finalizers": None}}, SYSTEM)
    zoo.gone(KUBERNETES_CONFIG, "lost")
    zoo.delete(OBJECT, "lost-used")


def config_marked(zoo: Zoo) -> None:
    """Take a provider away that left its mark on a ProviderConfig."""
    zoo.plane.stop("provider-helm")
    config = head(HELM_CONFIG, "marked", SYSTEM)
    config["metadata"]["finalizers"] = ["in-use.crossplane.io"]
    zoo.api.create({**config, "spec": {"credentials": {"source": "InjectedIdentity"}}})
    zoo.delete(HELM_CONFIG, "marked")


# Recorded deletes


def attempt(zoo: Zoo) -> None:
    """Have a delete refused, which lies in wait from then on."""
    zoo.freeze("attempt")
    zoo.refused(CLUSTER, zoo.world.name, "")


def attempt_then_staged(zoo: Zoo) -> None:
    """Have a delete refused before the mode is Staged: it is not carried out."""
    zoo.freeze("staged")
    zoo.refused(CLUSTER, zoo.world.name, "")
    zoo.patch(CLUSTER, zoo.world.name, {"spec": {"deletion": {"mode": "Staged"}}})
    zoo.wait(lambda: zoo.pending() == "DeletionPending", "the function says what to do")


def cascade_again(zoo: Zoo) -> None:
    """Go back to the other mode."""
    zoo.patch(CLUSTER, zoo.world.name, {"spec": {"deletion": {"mode": "Cascade"}}})
    thaw("staged")(zoo)


def thaw(name: str) -> Callable[[Zoo], None]:
    """Take a hand-made ClusterUsage away."""
    return lambda zoo: zoo.delete(CLUSTER_USAGE, name, "")


def glass_broken(zoo: Zoo) -> None:
    """Get past the policies, and leave the door open."""
    zoo.annotate(STACK, zoo.world.stack, BREAK_GLASS, SYSTEM)


def about(kind: str, name: str) -> Callable[[Zoo], tuple[str, ...]]:
    """Name an object of the system namespace."""
    return named(f"{kind} {SYSTEM}/{name}")


def provider_back(zoo: Zoo) -> None:
    """Start the provider again."""
    zoo.plane.restart("provider-helm")


_POLICY, _FUNCTION = named(f"{POLICY[1]} protect-platform"), named(f"Function {OURS}")
_PROVIDERS = named("Provider provider-helm-again", "Provider provider-helm")
_BINDING, _WEBHOOK = named(f"{BINDING[1]} foregroundbinding"), named(f"{WEBHOOK[1]} crossplane-no-usages")
_XRD = named(f"{XRD[1]} orphans.zoo.example.org")

SITUATIONS = (
    Situation("binding-audits", "policies", _BINDING, binding_audits),
    Situation("binding-deleted", "policies", _POLICY, binding_deleted),
    Situation("policy-ignores", "policies", _POLICY, policy_ignores),
    Situation("webhook-ignores", "usage-webhook", _WEBHOOK, webhook_ignores),
    Situation("function-inactive", "packages", _FUNCTION, function_inactive, function_automatic),
    Situation("function-unknown", "packages", _FUNCTION, function_unknown),
    Situation("provider-twice", "packages-twice", _PROVIDERS, provider_twice),
    Situation("stack-paused", "usages", stack, stack_paused),
    Situation("cluster-paused", "usages", cluster, cluster_paused),
    Situation(
        "user-never-came",
        "stale-usages",
        named(f"Usage {SYSTEM}/orphaned", f"Object {SYSTEM}/orphaned-used"),
        user_orphaned,
        let_go("orphaned"),
    ),
    Situation("object-paused", "stuck", about("Object", "paused-used"), object_paused, let_go("paused")),
    Situation("foreign", "stuck", about("Object", "foreign-used"), foreign_finalizer, let_go("foreign")),
    Situation(
        "secret-missing",
        "provider-configs",
        about("ProviderConfig", "missing"),
        secret_missing,
        let_go("missing"),
    ),
    Situation("secret-deleted", "stuck", about("Object", "deleted-used"), secret_deleted, let_go("deleted")),
    Situation("config-lost", "stuck", about("Object", "lost-used"), config_lost),
    Situation("config-marked", "stuck", about("ProviderConfig", "marked"), config_marked, provider_back),
    Situation("attempt", "attempts", cluster, attempt, thaw("attempt")),
    Situation("attempt-then-staged", "attempts", cluster, attempt_then_staged, cascade_again),
    Situation("glass-broken", "break-glass", stack, glass_broken),
    Situation("definition-orphaned", "definitions", _XRD, definition_orphaned, definition_gone),
)

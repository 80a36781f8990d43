"""The rows of doctor's checks that are about clusters: their Usages, recorded deletes and stuck deletions.

Each is an id, the check, the snapshot, and what is said of each finding: a part of object, text or command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.snapshots import EARLIER, JUST_NOW, condition, inside, made, of, snapshot, usage

if TYPE_CHECKING:
    from modelctl.snapshot.objects import Snapshot

HELM = "helm.m.crossplane.io/v1beta1"
ATTEMPT = "usage.crossplane.io/deletion-attempt-with-policy"
DYING: dict[str, Any] = {"deletionTimestamp": EARLIER}
MANAGED = "finalizer.managedresource.crossplane.io"

IC = made("InferenceCluster", "blue")
STACK = inside("ServingStack", "blue-stack", ownerReferences=of(IC))
EKS = inside("EKSCluster", "blue", ownerReferences=of(IC))
CONFIG = inside("ProviderConfig", "reach")
ON_CONFIG = {"providerConfigRef": {"kind": "ProviderConfig", "name": "reach"}}
LEAF = inside("Object", "leaf", ON_CONFIG, ownerReferences=of(STACK))
LLM = {**ON_CONFIG, "forProvider": {"manifest": {"kind": "LLMService"}}}
SERVICE = inside("Object", "model", LLM, ownerReferences=of(IC))
LOGIN = {
    "source": "Secret",
    "secretRef": {"namespace": "modelplane-system", "name": "login", "key": "kubeconfig"},
}
READS_SECRET = inside("ProviderConfig", "reach", {"credentials": LOGIN})
OWN_SECRET = {"secrets": [{"type": "Kubeconfig", "name": "login", "key": "kubeconfig"}]}
THEIR_STACK = inside("ServingStack", "blue-stack", OWN_SECRET, ownerReferences=of(IC))
LOGIN_SECRET = inside("Secret", "login")
PAUSED: dict[str, Any] = {"annotations": {"crossplane.io/paused": "true"}}
WHOLE = (
    IC,
    STACK,
    EKS,
    CONFIG,
    LEAF,
    usage("a", EKS, STACK),
    usage("b", EKS, LEAF),
    usage("c", CONFIG, LEAF),
)
TEARDOWN = {"teardown": {"stage": "DeletionPending"}}

CLUSTERS: list[tuple[str, str, Snapshot, list[str]]] = [
    ("all Usages", "usages", snapshot(*WHOLE), []),
    ("none for the leaf", "usages", snapshot(*WHOLE[:-2]), ["2 Usages are missing"]),
    (
        "none for the stack",
        "usages",
        snapshot(*WHOLE[:5], *WHOLE[6:]),
        ["InferenceCluster blue: a Usage is missing"],
    ),
    (
        "not in force",
        "usages",
        snapshot(*WHOLE[:-1], inside("Usage", "c", WHOLE[-1]["spec"])),
        ["a Usage is missing"],
    ),
    ("on its way down", "usages", snapshot({**IC, "metadata": {**IC["metadata"], **DYING}}, *WHOLE[1:5]), []),
    ("a service", "usages", snapshot(*WHOLE, SERVICE), ["3 Usages are missing"]),
    (
        "the user's own Secret",
        "usages",
        snapshot(IC, THEIR_STACK, CONFIG, LEAF, usage("c", CONFIG, LEAF)),
        ["of Secret modelplane-system/login by Object modelplane-system/leaf"],
    ),
    (
        "a paused owner",
        "usages",
        snapshot(made("InferenceCluster", "blue", **PAUSED), *WHOLE[1:7]),
        ["kubectl annotate inferencecluster.modelplane.ai blue crossplane.io/paused-"],
    ),
    (
        "in use, but unguarded",
        "usages",
        snapshot(made("InferenceCluster", "blue", status=condition("DeletionProtected", "True"))),
        ["of InferenceCluster blue by those who use it"],
    ),
    ("a user to come", "stale-usages", snapshot(usage("a", EKS, LEAF, creationTimestamp=JUST_NOW)), []),
    (
        "no user",
        "stale-usages",
        snapshot(usage("a", EKS, LEAF, creationTimestamp=EARLIER)),
        ["kubectl delete usage."],
    ),
    (
        "a user unseen",
        "stale-usages",
        snapshot(
            usage("a", EKS, LEAF, creationTimestamp=EARLIER),
            unread=(("kubernetes.m.crossplane.io", "Object"),),
        ),
        [],
    ),
    (
        "an attempt that waits",
        "attempts",
        snapshot(
            {**EKS, "metadata": {**EKS["metadata"], "annotations": {ATTEMPT: "Background"}}}, *WHOLE[5:7]
        ),
        ["(Background) of it was refused and is recorded; it is carried out when Object"],
    ),
    (
        "an attempt that nothing holds",
        "attempts",
        snapshot(made("InferenceCluster", "blue", annotations={ATTEMPT: "Foreground"})),
        ["nobody will carry it out"],
    ),
    (
        "an attempt underway",
        "attempts",
        snapshot(
            made(
                "InferenceCluster",
                "b",
                annotations={ATTEMPT: "x"},
                status={"teardown": {"stage": "Released"}},
            )
        ),
        [],
    ),
    (
        "a lost replay",
        "lost-replays",
        snapshot(made("InferenceCluster", "blue", status=TEARDOWN)),
        ["kubectl delete inferencecluster.modelplane.ai blue --cascade=foreground --wait=false"],
    ),
    ("a Secret", "provider-configs", snapshot(READS_SECRET, LOGIN_SECRET), []),
    (
        "no Secret",
        "provider-configs",
        snapshot(READS_SECRET),
        ["kubectl create secret generic login -n modelplane-system --from-file=kubeconfig=login.kubeconfig"],
    ),
    ("Secrets unseen", "provider-configs", snapshot(READS_SECRET, unread=(("", "Secret"),)), []),
    ("not yet", "stuck", snapshot(inside("Object", "leaf", deletionTimestamp=JUST_NOW)), []),
    ("paused", "stuck", snapshot(inside("Object", "leaf", **DYING, **PAUSED)), ["crossplane.io/paused-"]),
    (
        "its user goes too",
        "stuck",
        snapshot(
            inside("EKSCluster", "blue", **DYING),
            inside("Object", "leaf", deletionTimestamp=JUST_NOW),
            usage("b", EKS, LEAF),
        ),
        [],
    ),
    (
        "its user stays",
        "stuck",
        snapshot(inside("EKSCluster", "blue", **DYING), LEAF, usage("b", EKS, LEAF)),
        ["waits for Object modelplane-system/leaf, which is not being deleted"],
    ),
    (
        "what it composed goes",
        "stuck",
        snapshot(inside("ServingStack", "blue-stack", **DYING, finalizers=["foregroundDeletion"]), LEAF),
        [],
    ),
    (
        "a finalizer of nobody's",
        "stuck",
        snapshot(inside("Object", "leaf", ON_CONFIG, **DYING, finalizers=["away.org/it's"]), CONFIG),
        ["keeps the finalizer away.org/it's"],
    ),
    (
        "a finalizer of somebody's",
        "stuck",
        snapshot(inside("Object", "leaf", ON_CONFIG, **DYING, finalizers=["api.example.com/x"]), CONFIG),
        ["it does not say why (finalizers: api.example.com/x)"],
    ),
    (
        "its Secret is missing",
        "stuck",
        snapshot(inside("Object", "leaf", ON_CONFIG, **DYING), READS_SECRET),
        ["Secret modelplane-system/login of its ProviderConfig modelplane-system/reach is missing"],
    ),
    (
        "its ProviderConfig is gone",
        "stuck",
        snapshot(inside("Release", "leaf", ON_CONFIG, **DYING, finalizers=[MANAGED], api=HELM)),
        ["look first, then give it up"],
    ),
    (
        "its ProviderConfig is gone, its owner is not",
        "stuck",
        snapshot(inside("Object", "leaf", ON_CONFIG, **DYING, ownerReferences=of(STACK)), STACK),
        ["kubectl annotate servingstack.infrastructure.modelplane.ai blue-stack -n modelplane-system"],
    ),
    (
        "it waits for nothing that goes",
        "stuck",
        snapshot(inside("ServingStack", "blue-stack", **DYING), LEAF),
        ["ServingStack modelplane-system/blue-stack: is being deleted"],
    ),
    (
        "a mark of a provider",
        "stuck",
        snapshot(inside("ProviderConfig", "reach", **DYING, finalizers=["in-use.crossplane.io"])),
        ["nothing uses it"],
    ),
    (
        "a mark that stands for a use",
        "stuck",
        snapshot(
            inside("ProviderConfig", "reach", **DYING, finalizers=["in-use.crossplane.io"]),
            inside(
                "ProviderConfigUsage",
                "one",
                providerConfigRef={"name": "reach"},
                api="kubernetes.m.crossplane.io/v1alpha1",
            ),
        ),
        ["it does not say why"],
    ),
    (
        "it says why",
        "stuck",
        snapshot(
            inside(
                "Object",
                "leaf",
                ON_CONFIG,
                status=condition("Synced", "False", "", "no route\nto host"),
                **DYING,
            ),
            CONFIG,
        ),
        ["no route to host"],
    ),
]

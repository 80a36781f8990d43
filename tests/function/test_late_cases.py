"""Cases taken from public bug reports, through the late step of a composite of somebody else's."""

from __future__ import annotations

from support.calls import Manifest, Response, call, observe

HELM = "helm.m.crossplane.io/v1beta1"
KUBE = "kubernetes.m.crossplane.io/v1alpha1"
GROUP = "cases.example.test/v1"


def composite(name: str, namespace: str = "") -> Manifest:
    """Return a composite; a namespace is that of what it composes too."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": GROUP, "kind": "InferenceCluster", "metadata": metadata}


def named(api_version: str, kind: str, name: str, namespace: str = "", config: str = "") -> Manifest:
    """Return an object; `config` is the ProviderConfig that it uses."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    found: Manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    if config:
        found["spec"] = {"providerConfigRef": {"kind": "ProviderConfig", "name": config}}
    return found


def edges(protect: str, until_gone: str) -> Manifest:
    """Return Settings with one pair."""
    return {"kind": "Settings", "edges": [{"protect": protect, "untilGone": until_gone}]}


def pairs(made: Response) -> set[tuple[str, str, bool]]:
    """Return what each Usage protects, by which one object it does, and whether it replays.

    A selector counts as the one desired resource that carries its label.
    """
    found: set[tuple[str, str, bool]] = set()
    for manifest in made.desired.values():
        if manifest["kind"] in ("Usage", "ClusterUsage"):
            spec = manifest["spec"]
            by = spec["by"].get("resourceRef", {}).get("name") or _selected(made, spec["by"])
            found.add((spec["of"]["resourceRef"]["name"], by, spec["replayDeletion"]))
    return found


def _selected(made: Response, by: Manifest) -> str:
    wanted = by["resourceSelector"]["matchLabels"].items()
    (name,) = [
        m["metadata"]["name"]
        for m in made.desired.values()
        if wanted <= m["metadata"].get("labels", {}).items()
    ]
    return str(name)


def test_handed_01_one_usage_per_consumer() -> None:
    """Every one of several users of a ProviderConfig holds it, ready at once."""
    ns = "fleet-a"
    users = {
        "rel-ingress": named(HELM, "Release", "marlin-7-ingress", ns, "marlin-7-helm"),
        "rel-metrics": named(HELM, "Release", "marlin-7-metrics", ns, "marlin-7-helm"),
        "rel-runtime": named(HELM, "Release", "marlin-7-runtime", ns, "marlin-7-helm"),
        "obj-quota": named(KUBE, "Object", "marlin-7-quota", ns, "marlin-7-kube"),
        "obj-class": named(KUBE, "Object", "marlin-7-class", ns, "marlin-7-kube"),
    }
    steady = {
        "pc-helm": named(HELM, "ProviderConfig", "marlin-7-helm", ns),
        "pc-kube": named(KUBE, "ProviderConfig", "marlin-7-kube", ns),
        **users,
    }
    made = call(composite("marlin-7", ns), steady, desired=steady)
    helm, kube = "marlin-7-helm", "marlin-7-kube"
    assert pairs(made) == {
        (helm if key.startswith("rel") else kube, user["metadata"]["name"], True)
        for key, user in users.items()
    }
    assert made.ready == set(made.desired) - set(steady)


def test_handed_02_usage_scope_follows_target() -> None:
    """A cluster-scoped pair gets a ClusterUsage; a Usage of it would look healthy and block nothing."""
    steady = {
        "cluster": named("infra.example.test/v1", "MetalCluster", "heron-2-metal"),
        "stack": named("infra.example.test/v1", "ServingBundle", "heron-2-stack"),
    }
    made = call(composite("heron-2"), steady, settings=edges("cluster", "stack"), desired=steady)
    (usage,) = [m for k, m in made.desired.items() if k not in steady]
    assert (usage["apiVersion"], usage["kind"]) == ("protection.crossplane.io/v1beta1", "ClusterUsage")
    assert pairs(made) == {("heron-2-metal", "heron-2-stack", True)}
    assert "namespace" not in usage["metadata"]


def test_handed_03_usages_survive_a_closed_gate() -> None:
    """An earlier step that returns early drops the stack for a minute: the guard of the cluster stays."""
    xr, given, ns = composite("petrel-1", "fleet-a"), edges("cluster", "stack"), "fleet-a"
    cluster = named(GROUP, "EdgeCluster", "petrel-1-edge", ns)
    stack = named(GROUP, "ServingStack", "petrel-1-stack", ns)
    held = {("petrel-1-edge", "petrel-1-stack", True)}

    first = call(xr, {}, settings=given, desired={"cluster": cluster})
    assert set(first.desired) == {"cluster"}

    both = {"cluster": cluster, "stack": stack}
    cluster_ready = call(xr, {"cluster": cluster}, settings=given, desired=both)
    assert set(cluster_ready.desired) == {"cluster", "stack"}

    both_there = call(xr, both, settings=given, desired=both)
    assert pairs(both_there) == held

    observed = observe(both_there)
    for desired in (both, {"cluster": cluster}, {}):  # a gate that is one-way, one that flickers, a crash
        lost = call(xr, observed, settings=given, desired=desired)
        assert pairs(lost) == held
        assert {"cluster", *desired} <= set(lost.desired)

    del observed["stack"]  # Crossplane has forgotten it, and it is finalizing
    assert pairs(call(xr, observed, settings=given, desired={})) == held


def test_what_is_kept_gets_the_label_of_its_usage_too() -> None:
    """No public report: a consumer that is kept for its own user still holds its ProviderConfig."""
    observed = {
        "pc": named(HELM, "ProviderConfig", "helm", "a"),
        "web": named(HELM, "Release", "web", "a", config="helm"),
        "app": named(KUBE, "Object", "app", "a"),
    }
    desired = {key: observed[key] for key in ("pc", "app")}
    made = call(composite("c"), observed, None, edges("web", "app"), desired=desired)
    label = {"modelplane.ai/usage-consumer": "web"}
    assert made.desired["web"]["spec"] == observed["web"]["spec"]
    assert made.desired["web"]["metadata"]["labels"] == label
    assert made.desired["usage-pc-web"]["spec"]["by"]["resourceSelector"]["matchLabels"] == label

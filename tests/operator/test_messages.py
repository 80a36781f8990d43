"""The sentences that people read, and the caches' answers that they are made from."""

from datetime import timedelta
from typing import Any

import pytest

from llm_operator.pods import ReleaseName
from llm_operator.stores import Pods, Revisions, Services
from llm_operator.teardown import messages
from llm_operator.teardown.events import Event, manifest
from operator_harness.tables import T0, Row, pod

NODES = {"ok": True, "gpu-7": False, "a": False, "b": False}
LATE = T0 + timedelta(hours=1)
OVERDUE: Row = {"deleted": 0, "grace": 30}

ELSEWHERE = (
    "1 stuck on NotReady node a, 1 stuck on NotReady node b, 1 stuck on missing node x, 2 stuck elsewhere"
)
WAITING: list[tuple[list[Row], str]] = [
    ([{}], "waiting for 1 pod"),
    ([{}, {"name": "b"}, {"name": "c"}], "waiting for 3 pods"),
    (
        [{}, {"name": "b", "node": "gpu-7"}, {"name": "c", "node": "gpu-7"}],
        "waiting for 3 pods (2 stuck on NotReady node gpu-7)",
    ),
    ([{"node": "gone"}], "waiting for 1 pod (1 stuck on missing node gone)"),
    ([OVERDUE], "waiting for 1 pod (1 stuck past its grace)"),
    (
        [OVERDUE, {"node": "a"}, {"node": "b"}, {"node": "x"}, {"node": "y"}],
        f"waiting for 5 pods ({ELSEWHERE})",
    ),
]


@pytest.mark.parametrize(("rows", "text"), WAITING, ids=[text for _, text in WAITING])
def test_waiting(rows: list[Row], text: str) -> None:
    """How many pods are awaited, and where the stuck ones sit."""
    assert messages.waiting(tuple(map(pod, rows)), NODES, LATE) == text


def _service(name: str = "sable") -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": "tide",
            "uid": "u",
            "resourceVersion": "5",
            "managedFields": [1],
        }
    }


def test_event_names() -> None:
    """The same event has the same name, so that a second write is a conflict.

    Another one has another name.
    """

    def name(event: Event) -> str:
        text: str = manifest(event, _service("s" * 253), T0)["metadata"]["name"]
        return text

    assert name(Event("Released", "a")) == name(Event("Released", "b"))
    assert name(Event("Released", "a")) != name(Event("TimedOut", "a"))
    assert name(Event("PodForceDeleted", "a", "u1")) != name(Event("PodForceDeleted", "a", "u2"))
    assert len(name(Event("Released", "a"))) <= 253
    assert len(manifest(Event("x", "y" * 5000), _service(), T0)["message"]) <= 1024


def test_services_keep_the_newest() -> None:
    """A watch that lags behind our own write does not bring the old object back."""
    changed: list[object] = []
    services = Services(changed.append)
    services.put(_service())
    newer = _service()
    newer["metadata"]["resourceVersion"] = "10"
    assert services.keep(newer)
    services.put(_service())
    stored = services.get(("tide", "sable"))
    assert stored is not None
    assert stored["metadata"]["resourceVersion"] == "10"
    assert "managedFields" not in stored["metadata"]
    assert changed == [("tide", "sable")]
    services.drop(_service())
    assert services.get(("tide", "sable")) is not None, (
        "a successor is not dropped by the end of its predecessor"
    )
    services.keep_only(set())
    assert services.get(("tide", "sable")) is None


def _pod_object(name: str, node: str = "n", **labels: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "tide", "uid": name, "labels": labels}
    return {"metadata": meta, "spec": {"nodeName": node}}


def test_pods_are_found_by_either_label() -> None:
    """Labels that change move a pod; one that is dropped is gone from both."""
    release, pods = ReleaseName("tide", "sable", "textgen"), Pods()
    pods.put(_pod_object("a", **{"app.kubernetes.io/instance": "sable", "app": "sable-textgen"}))
    pods.put(_pod_object("b", app="sable-textgen"))
    pods.put(_pod_object("c", app="onyx-textgen"))
    pods.put(_pod_object("d"))
    assert sorted(p.name for p in pods.of(release)) == ["a", "b"]
    pods.put(_pod_object("b", app="onyx-textgen"))
    assert [p.name for p in pods.of(release)] == ["a"]
    pods.drop(_pod_object("a"))
    assert pods.of(release) == ()
    pods.put(_pod_object("e", app="sable-textgen"))
    pods.keep_only({("tide", "e")})
    assert [p.name for p in pods.of(release)] == ["e"]


def test_a_list_of_one_namespace_clears_only_that() -> None:
    """Namespaces are listed each for itself: what is known of the others stays."""
    services, pods, revisions = Services(lambda _: None), Pods(), Revisions()
    label = {"app.kubernetes.io/instance": "sable"}
    record = {"owner": "helm", "name": "sable", "version": "1"}
    for namespace in ("tide", "ebb"):
        meta = {"name": "sable", "namespace": namespace, "uid": namespace, "resourceVersion": "9"}
        services.put({"metadata": {**meta}})
        pods.put({"metadata": {**meta, "labels": label}})
        revisions.put({"metadata": {**meta, "labels": record}})
    for store in (services, pods, revisions):
        store.keep_only(set(), "ebb")
    assert [obj["metadata"]["namespace"] for obj in services.all()] == ["tide"]
    assert [len(pods.of(ReleaseName(n, "sable", "textgen"))) for n in ("tide", "ebb")] == [1, 0]
    assert [len(revisions.of(n, "sable")) for n in ("tide", "ebb")] == [1, 0]


def test_revisions_come_and_go() -> None:
    """A release is held by as many revisions as there are Secrets."""
    revisions = Revisions()

    def secret(version: int) -> dict[str, Any]:
        labels = {"owner": "helm", "name": "sable", "version": str(version), "status": "deployed"}
        return {
            "metadata": {"namespace": "tide", "name": f"v{version}", "resourceVersion": "1", "labels": labels}
        }

    revisions.put(secret(1))
    revisions.put(secret(2))
    assert sorted(r.version for r in revisions.of("tide", "sable")) == [1, 2]
    revisions.drop(secret(1))
    revisions.drop(secret(2))
    assert revisions.of("tide", "sable") == ()

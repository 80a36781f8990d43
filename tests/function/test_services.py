"""What becomes of spec.services: one Object each, held by nothing and holding what its teardown needs."""

from __future__ import annotations

from typing import Any

import pytest

from support.calls import OBJECT, Manifest, call, cluster, thing
from support.simulation import Simulation

CHART = {"repository": "https://charts.example.org", "name": "textgen", "version": "0.1.0"}
OTHER: dict[str, list[Manifest]] = {"model-replicas": [], "provider-config-usages": []}


def service(name: str = "sable", **more: Any) -> Manifest:  # noqa: ANN401 -- JSON
    """Return an entry of spec.services."""
    return {"namespace": "models", "name": name, "chart": CHART, **more}


def up(*services: Manifest, **spec: Any) -> Simulation:  # noqa: ANN401 -- JSON
    """Return an InferenceCluster on which everything is up."""
    given = {"services": list(services), "deletion": {"mode": "Cascade"}, **spec}
    it = Simulation(cluster("Local", **given), dict(OTHER))
    for _ in range(6):
        it.step()
    return it


def manifest(it: Simulation, name: str = "sable") -> Manifest:
    """Return the LLMService that is composed."""
    assert it.response is not None
    found: Manifest = it.response.desired[f"service-models.{name}"]["spec"]["forProvider"]["manifest"]
    return found


def test_a_service_comes_after_the_stack_and_its_namespace() -> None:
    """ProviderConfig first, then the namespace once the stack is ready, then the service."""
    it = Simulation(cluster("Local", services=[service()], deletion={"mode": "Cascade"}), dict(OTHER))
    seen: list[str] = []
    for _ in range(6):
        new = [k for k in it.step().desired if k not in seen and not k.startswith("usage-")]
        seen += sorted(new)
    order = ["provider-config-services", "serving-stack", "services-namespace-models", "service-models.sable"]
    assert [key for key in seen if key in order] == order


def test_the_stack_that_is_not_ready_holds_a_new_service_back() -> None:
    """The gate is one-way: what exists stays when the stack loses its readiness."""
    it = up(service("a"))
    it.composite["spec"]["services"].append(service("b"))
    for found in it.things.values():
        if found.body["kind"] == "ServingStack":
            found.body["status"]["conditions"][0]["status"] = "False"
    desired = it.step().desired
    assert "service-models.a" in desired
    assert "service-models.b" not in desired


def test_usages_hold_what_the_teardown_needs() -> None:
    """Stack and ProviderConfig, directly; a service that is not ready does not hold back readiness."""
    it = up(service())
    assert it.response is not None
    usages = it.response.usages()
    assert usages["usage-stack-by-service-models.sable"][0].startswith("ServingStack/")
    assert usages["usage-pc-service-models.sable"][0].startswith("ProviderConfig/")
    assert "service-models.sable" in it.response.ready
    assert not it.response.incomplete


def test_a_secret_of_the_user_is_held_by_each_service() -> None:
    """With an existing cluster the service logs in with it until its end."""
    block = {"existing": {"secretRef": {"name": "kc"}}}
    composite = cluster("Existing", block=block, services=[service()], deletion={"mode": "Cascade"})
    it = Simulation(composite, dict(OTHER))
    for _ in range(6):
        response = it.step()
    assert response.usages()["usage-secret-kc-by-service-models.sable"][0] == "Secret/kc"


def test_knobs_and_policy() -> None:
    """The service's own knob, else the InferenceCluster's; Orphan becomes the annotation; the rest stays."""
    deletion = {"mode": "Cascade", "maxWait": "2h", "routeSettle": "5s"}
    given = service(
        deletion={"routeSettle": "1s", "policy": "Orphan"},
        values={"replicas": 2},
        valuesFrom=[{"kind": "Secret", "name": "token"}],
        suspend=True,
        serviceAccountName="deployer",
    )
    made = manifest(up(given, deletion=deletion))
    assert made["metadata"] == {
        "name": "sable",
        "namespace": "models",
        "annotations": {"serving.modelsphere.dev/deletion-policy": "Orphan"},
    }
    assert made["spec"] == {
        "chart": CHART,
        "values": {"replicas": 2},
        "valuesFrom": [{"kind": "Secret", "name": "token"}],
        "suspend": True,
        "serviceAccountName": "deployer",
        "deletion": {"maxWait": "2h", "routeSettle": "1s"},
    }


def test_a_removed_service_stays_visible_until_it_is_gone() -> None:
    """Its Object leaves desired at once, its Usages and its entry when it is really gone."""
    it = up(service("a"), service("b"))
    it.composite["spec"]["services"] = [service("b")]
    for _ in range(3):
        response = it.step()
    assert "service-models.a" not in response.desired
    assert {"usage-stack-by-service-models.a", "usage-pc-service-models.a"} <= set(response.desired)
    assert [s["name"] for s in response.status["services"]] == ["a", "b"]
    it.finish(it.finalizing()[0])
    for _ in range(3):
        response = it.step()
    assert [s["name"] for s in response.status["services"]] == ["b"]
    assert not [key for key in response.desired if key.endswith("models.a")]


def test_the_last_service_takes_its_provider_config_along_when_it_is_gone() -> None:
    """It is held until then; nothing of services is left after."""
    it = up(service())
    it.composite["spec"]["services"] = []
    for _ in range(4):
        response = it.step()
    assert "provider-config-services" in response.desired
    assert response.warnings == []
    for ref in it.finalizing():
        it.finish(ref)
    for _ in range(4):
        response = it.step()
        for ref in it.finalizing():
            it.finish(ref)
    assert not [key for key in response.desired if "service" in key]


def test_status_passes_the_teardown_through() -> None:
    """Phase, stage, outcome, pods and message of the LLMService, and ServicesReady says who waits."""
    deletion = {"stage": "PodsTerminating", "podsRemaining": 3, "message": "waiting", "startedAt": "x"}
    at_provider = {"manifest": {"status": {"phase": "Deleting", "deletion": deletion}}}
    observed = {"service-models.sable": thing(OBJECT, "o", status={"atProvider": at_provider})}
    made = call(cluster("Local", services=[service()], deletion={"mode": "Cascade"}), observed, OTHER)
    shown = {"stage": "PodsTerminating", "podsRemaining": 3, "message": "waiting"}
    assert made.status["services"] == [
        {"namespace": "models", "name": "sable", "phase": "Deleting", "deletion": shown}
    ]
    assert made.conditions["ServicesReady"] == (False, "NotReady", "models/sable (Deleting)")


def test_an_xrd_that_does_not_know_services_gets_no_status_of_them() -> None:
    """One field that the installed XRD does not declare fails every reconcile."""
    made = call(cluster("Local", services=[service()]), {}, OTHER)
    assert "services" not in made.status
    assert "ServicesReady" not in made.conditions


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        pytest.param({"namespace": "models"}, "name is required", id="no name"),
        pytest.param(service(namespace="a.b"), "namespace must be", id="namespace with a dot"),
        pytest.param(service("x" * 54), "must be 1 to 53", id="name longer than Helm allows"),
        pytest.param(service(chart={"name": "c", "version": "1"}), "exactly one of", id="chart from nowhere"),
        pytest.param(
            service(chart={**CHART, "oci": "oci://x"}), "exactly one of", id="chart from two places"
        ),
        pytest.param(service(deletion={"policy": "Keep"}), "must be one of Orphan", id="unknown policy"),
        pytest.param(service(deletion={"maxWait": 5}), "must be text", id="knob that is no text"),
        pytest.param("sable", "must be a block", id="not a block"),
    ],
)
def test_a_service_that_cannot_be_planned_stops_the_pass(entry: Any, problem: str) -> None:  # noqa: ANN401 -- JSON
    """One fatal result that says what and where."""
    made = call(cluster("Local", services=[entry]), {}, OTHER)
    assert len(made.fatal) == 1
    assert problem in made.fatal[0]
    assert "spec.services[0]" in made.fatal[0]


def test_two_services_of_one_name_are_refused() -> None:
    """They would be one LLMService."""
    made = call(cluster("Local", services=[service(), service()]), {}, OTHER)
    assert "models/sable twice" in made.fatal[0]

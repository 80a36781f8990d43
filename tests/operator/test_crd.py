"""What the API server takes and refuses of an LLMService, by the generated CRD."""

import copy
import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from controlplane.kube import ApiError, Object
from operator_harness.tables import Row, row_id, rows
from operator_harness.world import World


@pytest.fixture(scope="session")
def crd_namespace(operator_world: World) -> str:
    """One namespace for all rows; no controller runs in it."""
    return operator_world.namespace("crd")


def _merged(base: Object, changes: dict[str, Any]) -> Object:
    """Merge a row's changes into an object; null takes a field away."""
    out = copy.deepcopy(base)
    for key, value in changes.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = _merged(out[key], value)
        else:
            out[key] = value
    return out


def _expected(row: Row) -> AbstractContextManager[object]:
    """Expect the refusal that the row names, or none."""
    return pytest.raises(ApiError, match=re.escape(row["refused"])) if "refused" in row else nullcontext()


@pytest.mark.parametrize("row", rows("crd"), ids=row_id)
def test_create(row: Row, operator_world: World, crd_namespace: str) -> None:
    """A create is taken, or refused with a message that says why."""
    obj = _merged(operator_world.service(crd_namespace, row.get("name", "probe")), {"spec": row["spec"]})
    with _expected(row):
        operator_world.plane.api.create(obj, dryRun="All")


@pytest.mark.parametrize("row", rows("crdUpdate"), ids=row_id)
def test_update(row: Row, operator_world: World, crd_namespace: str) -> None:
    """A change is taken, or refused with a message that says why."""
    api = operator_world.plane.api
    name = f"update-{rows('crdUpdate').index(row)}"
    base = _merged(operator_world.service(crd_namespace, name), {"spec": row["before"]})
    api.create(base)
    with _expected(row):
        api.patch(base, {"spec": row["after"]})
    api.delete(base)


def test_printer_columns(operator_world: World, crd_namespace: str) -> None:
    """`kubectl get` shows phase, stage, pods and age."""
    api = operator_world.plane.api
    base = operator_world.service(crd_namespace, "columns")
    api.create(base)
    status = {"phase": "Deleting", "deletion": {"stage": "PodsTerminating", "podsRemaining": 3}}
    api.patch(base, {"status": status}, "status")
    lines = operator_world.plane.kubectl("get", "llmsvc", "columns", "-n", crd_namespace).splitlines()
    assert lines[0].split() == ["NAME", "PHASE", "STAGE", "PODS", "AGE"]
    assert lines[1].split()[:4] == ["columns", "Deleting", "PodsTerminating", "3"]
    api.delete(base)


def test_crd_is_structural_and_has_a_status_subresource(operator_world: World) -> None:
    """The server has no complaint about the schema, and a spec write cannot touch the status."""
    name = "llmservices.serving.modelsphere.dev"
    crd = operator_world.plane.api.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
    conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
    assert "NonStructuralSchema" not in conditions
    assert conditions["Established"] == "True"
    assert crd["spec"]["versions"][0]["subresources"] == {"status": {}}

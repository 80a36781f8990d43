"""The description that is checked in is what the code serves, and says what the specification asks for."""

from typing import Any

import pytest
import yaml

from release_api import generate
from release_api.app import description
from release_api.models import Phase


def test_no_diff() -> None:
    """`make generate` would change nothing."""
    for path, content in generate.files().items():
        assert path.read_text() == content, f"{path} is stale: run make generate"


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    """Return the schemas as they are checked in."""
    text = yaml.safe_load((generate.FOLDER / "openapi.yaml").read_text())
    assert text == description()
    assert text["openapi"].startswith("3.1")
    found: dict[str, Any] = text["components"]["schemas"]
    return found


def test_routes() -> None:
    """Every route of the specification is there."""
    paths = {path: set(methods) for path, methods in description()["paths"].items()}
    assert paths == {
        "/api/deployments": {"get"},
        "/api/releases/{namespace}/{name}": {"get", "post", "put", "delete"},
        "/api/releases/{namespace}/{name}/rollback": {"post"},
        "/api/audit": {"get"},
        "/healthz": {"get"},
        "/readyz": {"get"},
        "/metrics": {"get"},
    }


def test_one_enum_of_phases(schemas: dict[str, Any]) -> None:
    """Row, plan status and LLMService share one enum."""
    assert schemas["Phase"]["enum"] == [str(phase) for phase in Phase]
    for model in ("Row", "PlanStatus", "LLMServiceStatus", "Outcome"):
        assert schemas[model]["properties"]["phase"] == {"$ref": "#/components/schemas/Phase"}


def test_revision_is_optional(schemas: dict[str, Any]) -> None:
    """A row without a revision is valid, and one of 0 is not."""
    assert "revision" not in schemas["Row"]["required"]
    assert schemas["Row"]["properties"]["revision"]["anyOf"][0]["minimum"] == 1
    assert set(schemas["Row"]["required"]) == {"namespace", "release", "backend", "chart", "phase"}


def test_every_failure_is_a_problem() -> None:
    """Whatever is no success is described as problem+json."""
    for methods in description()["paths"].values():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                assert int(status) < 300 or list(answer["content"]) == ["application/problem+json"], operation

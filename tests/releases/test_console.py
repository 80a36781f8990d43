"""A web console of another repository reads these rows: what its fixtures hold stays, more may come."""

import json

import pytest

from operator_harness.tables import Row, row_id
from release_api.models import Row as Model
from releases_harness.console import FOLDER, path_of
from releases_harness.tables import rows, shown


@pytest.mark.parametrize("row", rows("rows"), ids=row_id)
def test_additive(row: Row) -> None:
    """Every field of the fixture is still there, with its value; the fixture is a row of today's model."""
    fixture = json.loads(path_of(row).read_text())
    body = shown(row["given"])
    assert {key: body.get(key) for key in fixture} == fixture
    assert Model.model_validate(fixture).phase == fixture["phase"]


def test_no_stray_fixture() -> None:
    """Every fixture belongs to a row of the table."""
    assert {path.name for path in FOLDER.glob("*.json")} == {path_of(row).name for row in rows("rows")}

"""The pure decisions, row by row: what a check does, whether a lease has run out, what a row shows."""

import pytest

from llm_operator.records import Held
from operator_harness.tables import Row, row_id
from release_api import lease, reap
from release_api.lease import Operation, Terms
from release_api.models import Backend, Phase
from releases_harness.tables import rows, shown


@pytest.mark.parametrize("row", rows("reap"), ids=row_id)
def test_reap(row: Row) -> None:
    """A check does what its row says."""
    given = {"backend": "helm", "lock_free": True, **row["given"]}
    facts = reap.Facts(
        backend=Backend(given.pop("backend")),
        phase=Phase(given.pop("phase")),
        held=Held(given.pop("held", "unknown")),
        **given,
    )
    assert reap.decide(facts) == row["then"]


@pytest.mark.parametrize("row", rows("leases"), ids=row_id)
def test_leases(row: Row) -> None:
    """A lease has run out when its row says so."""
    last = None
    for moment, renewed, *holder in row["looks"]:
        spec = {"holderIdentity": (holder or ["one"])[0], "renewTime": renewed, "leaseDurationSeconds": 60}
        last = lease.seen({"metadata": {}, "spec": spec}, last, moment)
    assert last is not None
    assert last.expired(row["now"]) is row["expired"]


def test_a_lease_that_says_nothing_is_an_apply() -> None:
    """Nobody may begin anything under a lease whose purpose is unknown: an uninstall would answer 200."""
    assert lease.seen({"metadata": {}, "spec": {}}, None, 0).operation is Operation.APPLY


def test_terms() -> None:
    """60 s are renewed every 15, and given up after 40."""
    assert (Terms().renew, Terms().give_up) == (15, 40)


@pytest.mark.parametrize("row", rows("rows"), ids=row_id)
def test_rows(row: Row) -> None:
    """A release shows what its row says, and no more."""
    body = shown(row["given"])
    assert {key: body.get(key) for key in row["then"]} == row["then"]
    assert [key for key in row.get("without", []) if key in body] == []

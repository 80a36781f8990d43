"""Helm's stored records: what can be read of them, and that what cannot be is never taken for 'gone'."""

import base64
import gzip
import json
from typing import Any

import pytest

from llm_operator.records import RecordError, Revision, decode, holds, newest, revision_from_api, values

BODY: dict[str, Any] = {
    "name": "sable",
    "namespace": "tide",
    "version": 3,
    "info": {"status": "deployed"},
    "chart": {"metadata": {"name": "textgen", "version": "0.1.0"}},
    "manifest": "---\nkind: Service\n",
}


def _secret(data: bytes) -> dict[str, Any]:
    return {
        "metadata": {"name": "sh.helm.release.v1.sable.v3"},
        "data": {"release": base64.b64encode(data).decode()},
    }


def _stored(body: object) -> bytes:
    return base64.b64encode(gzip.compress(json.dumps(body).encode()))


def test_decode() -> None:
    """A record as Helm stores it, also one from before Helm compressed them."""
    record = decode(_secret(_stored(BODY)))
    assert (record.name, record.namespace, record.version) == ("sable", "tide", 3)
    assert (record.status, record.chart, record.chart_version) == ("deployed", "textgen", "0.1.0")
    assert record.manifest == BODY["manifest"]
    assert decode(_secret(base64.b64encode(json.dumps(BODY).encode()))) == record


CHART = {"replicas": 1, "prefill": {"replicas": 2, "gpu": "h100"}, "grace": 30}
# What was given, and what the record was rendered with.
VALUES: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "nothing": (None, CHART),
    "over the chart's": ({"replicas": 5}, {**CHART, "replicas": 5}),
    "inside a block": ({"prefill": {"replicas": 0}}, {**CHART, "prefill": {"replicas": 0, "gpu": "h100"}}),
    "something new": ({"decode": {"replicas": 3}}, {**CHART, "decode": {"replicas": 3}}),
    "null takes away": ({"grace": None}, {"replicas": 1, "prefill": CHART["prefill"]}),
    "a block in the place of a number": ({"grace": {"s": 1}}, {**CHART, "grace": {"s": 1}}),
}


@pytest.mark.parametrize("row", VALUES.values(), ids=VALUES.keys())
def test_values(row: tuple[dict[str, Any] | None, dict[str, Any]]) -> None:
    """The values that were given lie over the chart's own, as Helm lays them."""
    body = {**BODY, "chart": {**BODY["chart"], "values": CHART}, "config": row[0]}
    assert values(_secret(_stored(body))) == row[1]


@pytest.mark.parametrize("changes", [{"chart": 1}, {"config": 1}, {"chart": {"values": 1}}], ids=str)
def test_values_that_are_none(changes: dict[str, Any]) -> None:
    """A record of another shape has no values."""
    with pytest.raises(RecordError, match="holds no readable Helm record"):
        values(_secret(_stored({**BODY, **changes})))


BROKEN: dict[str, dict[str, Any]] = {
    "no data": {"metadata": {"name": "s"}},
    "no release in it": {"metadata": {"name": "s"}, "data": {}},
    "not base64": {"metadata": {"name": "s"}, "data": {"release": "?"}},
    "not base64 inside": _secret(b"?"),
    "not JSON": _secret(base64.b64encode(b"{")),
    "not an object": _secret(_stored([1])),
    "cut short": _secret(base64.b64encode(gzip.compress(json.dumps(BODY).encode())[:-20])),
    "no name": _secret(_stored({k: v for k, v in BODY.items() if k != "name"})),
    "no status": _secret(_stored({**BODY, "info": {}})),
    "a version that is none": _secret(_stored({**BODY, "version": "x"})),
    "a bomb": _secret(base64.b64encode(gzip.compress(b" " * (65 * 2**20), 9))),
}


@pytest.mark.parametrize("secret", BROKEN.values(), ids=BROKEN.keys())
def test_broken(secret: dict[str, Any]) -> None:
    """Each is an error that names the Secret and quotes nothing of it."""
    with pytest.raises(RecordError, match="holds no readable Helm record"):
        decode(secret)


def _revision(version: int, status: str) -> Revision:
    return Revision("tide", "sable", version, status, f"v{version}", "1")


def test_newest() -> None:
    """The highest version is the newest, as a number; a kept history of `uninstalled` holds nothing."""
    revisions = [_revision(9, "superseded"), _revision(10, "deployed"), _revision(2, "failed")]
    assert newest(revisions) == revisions[1]
    assert holds(newest(revisions))
    assert holds(_revision(1, "uninstalling"))
    assert not holds(_revision(1, "uninstalled"))
    assert not holds(newest([]))


@pytest.mark.parametrize(
    "labels",
    [{}, {"owner": "helm"}, {"owner": "helm", "name": "x"}, {"owner": "x", "name": "x", "version": "1"}],
)
def test_other_secrets_are_passed_over(labels: dict[str, str]) -> None:
    """A Secret that is not a release's is nobody's revision."""
    meta = {"namespace": "tide", "name": "s", "resourceVersion": "1", "labels": labels}
    assert revision_from_api({"metadata": meta}) is None

"""The small pure functions, each against its table in `tables/`."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from llm_operator.durations import DurationError, format_duration, parse_duration
from llm_operator.pods import ReleaseName, belongs, counts, stuck, terminating_for
from llm_operator.routes import routes_from_manifest
from llm_operator.teardown.knobs import read_knobs
from operator_harness.tables import T0, TABLES, Row, pod, row_id, rows

PREFIX = "serving.modelsphere.dev/"
NODES = {"ok": True, "dead": False}
GRACE: dict[str, Any] = yaml.safe_load((TABLES / "graceWindow.yaml").read_text())


@pytest.mark.parametrize("row", rows("durations"), ids=row_id)
def test_duration(row: Row) -> None:
    """Go's syntax is read as Go reads it, and written so that it reads back."""
    if row["micros"] is None:
        with pytest.raises(DurationError):
            parse_duration(row["text"])
        return
    duration = parse_duration(row["text"])
    assert duration == timedelta(microseconds=row["micros"])
    assert format_duration(duration) == row["back"]
    assert parse_duration(row["back"]) == duration


@pytest.mark.parametrize("row", rows("deletionKnobs"), ids=row_id)
def test_knobs(row: Row) -> None:
    """Annotation over spec over default; what is not understood is told and passed over."""
    annotations = {key if "/" in key else PREFIX + key: value for key, value in row["annotations"].items()}
    knobs = read_knobs(annotations, row["spec"])
    got = {
        "maxWait": knobs.max_wait,
        "routeSettle": knobs.route_settle,
        "forceDeleteAfter": knobs.force_delete_after,
        "orphan": knobs.orphan,
    }
    want = {key: parse_duration(text) if isinstance(text, str) else text for key, text in row["want"].items()}
    assert {key: got[key] for key in want} == want
    assert [invalid.where.removeprefix(PREFIX) for invalid in knobs.invalid] == row.get("invalid", [])


@pytest.mark.parametrize("row", rows("modelRoutesFromManifest"), ids=row_id)
def test_routes(row: Row) -> None:
    """Every ModelRoute of a manifest is found, whatever lies beside it."""
    found = routes_from_manifest(row["manifest"], "tide")
    assert [f"{r.namespace}/{r.name}/{r.group}/{r.version}" for r in found.routes] == row["want"]
    assert found.broken == row.get("broken", 0)


@pytest.mark.parametrize("row", rows("podCounts"), ids=row_id)
def test_pod_counts(row: Row) -> None:
    """A pod counts as long as it may still run."""
    now = T0 + timedelta(seconds=row["now"])
    assert counts(pod(row["pod"]), NODES, now) is row["counts"]
    if "stuck" in row:
        assert stuck(pod(row["pod"]), NODES, now) is row["stuck"]


@pytest.mark.parametrize("row", rows("podsOfRelease"), ids=row_id)
def test_pods_of_release(row: Row) -> None:
    """The instance label decides; `app` only where there is none."""
    assert belongs(pod(row["pod"]), ReleaseName("tide", "sable", "textgen")) is row["ours"]
    assert not belongs(pod(row["pod"]), ReleaseName("ebb", "sable", "textgen"))


def _clock(text: str) -> float:
    moment = datetime.strptime(text, "%H:%M:%S").replace(tzinfo=UTC)
    return (moment - moment.replace(hour=10, minute=0, second=0)).total_seconds()


def _window_pod(name: str) -> Any:  # noqa: ANN401 - handed straight on
    row = dict(GRACE["pods"][name])
    if "deleted" in row:
        row["deleted"] = _clock(row["deleted"])
    return pod(row)


@pytest.mark.parametrize(("name", "clock", "want"), GRACE["counts"])
def test_grace_window_counts(name: str, clock: str, want: bool) -> None:  # noqa: FBT001 - a column of the table
    """The window and the five minutes after it count from deletionTimestamp, grace added once more."""
    assert counts(_window_pod(name), GRACE["nodes"], T0 + timedelta(seconds=_clock(clock))) is want


@pytest.mark.parametrize(("name", "clock", "seconds"), GRACE["terminating_for"])
def test_grace_window_terminating_for(name: str, clock: str, seconds: int) -> None:
    """How long a pod has been terminating counts from the delete request."""
    now = T0 + timedelta(seconds=_clock(clock))
    assert terminating_for(_window_pod(name), now) == timedelta(seconds=seconds)

"""Reads table rows (YAML) into the values of the pure functions. Times are seconds after `T0`."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from llm_operator.durations import parse_duration
from llm_operator.pods import Pod
from llm_operator.records import Held
from llm_operator.routes import Route
from llm_operator.teardown.knobs import Knobs
from llm_operator.teardown.model import Attempt, Deletion, Facts, Outcome, Release, Routes, Stage

TABLES = Path(__file__).parents[1] / "operator" / "tables"
T0 = datetime(2031, 5, 6, 10, 0, tzinfo=UTC)
Row = dict[str, Any]


def rows(table: str, folder: Path = TABLES) -> list[Row]:
    """Return the rows of a table; each has an `id`."""
    loaded: list[Row] = yaml.safe_load((folder / f"{table}.yaml").read_text())
    ids = [row["id"] for row in loaded]
    assert len(ids) == len(set(ids)), f"{table}: an id stands twice"
    return loaded


def row_id(row: Row) -> str:
    """Name a row for pytest."""
    return str(row["id"])


def at(seconds: float | None) -> datetime | None:
    """Return a moment by its seconds after T0."""
    return None if seconds is None else T0 + timedelta(seconds=seconds)


def pod(row: Row) -> Pod:
    """Build a pod: `deleted` is its deletionTimestamp, in seconds after T0."""
    return Pod(
        namespace="tide",
        name=row.get("name", "p"),
        uid=row.get("uid", f"uid-{row.get('name', 'p')}"),
        phase=row.get("phase", "Running"),
        node=row.get("node", "ok"),
        instance=row.get("instance", "sable"),
        app=row.get("app"),
        deletion_timestamp=at(row.get("deleted")),
        deletion_grace=row.get("grace"),
        termination_grace=row.get("termination"),
    )


def facts(row: Row) -> Facts:
    """Build the facts of a decision from a row's `given`."""
    given = row["given"]
    return Facts(
        now=T0 + timedelta(seconds=given.get("now", 0)),
        knobs=_knobs(given.get("knobs", {})),
        deletion=_deletion(given),
        suspended=given.get("suspended", False),
        release=_release(given.get("release", "held")),
        routes=_routes(given.get("routes", {})),
        pods=None if given.get("pods") == "unseen" else tuple(pod(p) for p in given.get("pods", [])),
        nodes=given.get("nodes", {"ok": True, "dead": False}),
        attempt=_attempt(given.get("attempt")),
        refused=frozenset(given.get("refused", [])),
        release_name="sable",
    )


def _knobs(row: Mapping[str, Any]) -> Knobs:
    names = {"maxWait": "max_wait", "routeSettle": "route_settle", "forceDeleteAfter": "force_delete_after"}
    values: dict[str, Any] = {names[key]: parse_duration(text) for key, text in row.items() if key in names}
    return Knobs(**values, orphan=row.get("orphan", False))


def _deletion(given: Mapping[str, Any]) -> Deletion | None:
    if "stage" not in given:
        return None
    return Deletion(
        stage=Stage(given["stage"]),
        started_at=T0,
        outcome=Outcome(given.get("outcome", "Clean")),
        route_removed_at=at(given.get("routeRemoved")),
        uninstalled_at=at(given.get("uninstalled")),
        force_deleted=tuple(given.get("forceDeleted", [])),
    )


def _release(text: str) -> Release:
    if text == "foreign":
        return Release(Held.HELD, ours=False, detail="someone else's")
    return Release(Held(text), detail="broken" if text == "unknown" else "")


def _routes(row: Mapping[str, Any]) -> Routes:
    def some(key: str) -> tuple[Route, ...]:
        return tuple(Route("tide", name, "routing.modelsphere.dev", "v1") for name in row.get(key, []))

    return Routes(
        row.get("named", len(row.get("left", []))), some("left"), some("unasked"), row.get("error", "")
    )


def _attempt(row: Mapping[str, Any] | None) -> Attempt | None:
    return None if row is None else Attempt(row.get("error", ""), at(row.get("ended")))

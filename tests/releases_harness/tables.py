"""Reads table rows (YAML) into what the release API's views are given. Times are seconds after `T0`."""

from datetime import timedelta
from pathlib import Path

from llm_operator.records import Revision
from operator_harness import tables
from operator_harness.tables import T0, Row, pod
from release_api import views
from release_api.models import Backend, ChartSource, Phase
from release_api.plan import Plan, Status, User

TABLES = Path(__file__).parents[1] / "releases" / "tables"


def rows(table: str) -> list[Row]:
    """Return the rows of a table of the release API."""
    return tables.rows(table, TABLES)


def shown(given: Row) -> Row:
    """Return the row that is shown of what is given, as a client reads it."""
    row = views.row(_facts(given), T0 + timedelta(seconds=given.get("now", 0)))
    return row.model_dump(mode="json", by_alias=True, exclude_none=True)


def _facts(given: Row) -> views.Facts:
    names = [{"name": f"p{number:02d}"} for number in range(given.get("many", 0))]
    pods = tuple(pod(p) for p in [*given.get("pods", []), *names])
    revision = None
    if "revision" in given:
        revision = Revision("tide", "sable", given["revision"], "deployed", "s", "1")
    return views.Facts(
        key=("tide", "sable"),
        plan=_plan(given) if "phase" in given else None,
        service=_service(given),
        revision=revision,
        pods=pods,
        pods_fresh=given.get("fresh", True),
        hold=given.get("hold"),
    )


def _plan(given: Row) -> Plan:
    since = T0 + timedelta(seconds=given["since"]) if "since" in given else None
    status = Status(Phase(given["phase"]), since, message=given.get("message", ""))
    chart = ChartSource(name="textgen", version="0.1.0", repository="https://charts.example")
    backend = Backend(given.get("backend", "helm"))
    trusted = given.get("trusted", True)
    return Plan(("tide", "sable"), backend, chart, User("ada"), status, "1", "uid", trusted=trusted)


def _service(given: Row) -> Row | None:
    if "service" not in given:
        return None
    meta = {"name": "sable", "namespace": "tide", "uid": "u", "resourceVersion": "1"}
    meta |= {"deletionTimestamp": "2031-05-06T10:00:00Z"} if given.get("deleting") else {}
    spec = {"chart": {"name": "textgen", "version": "0.1.0"}}
    return {"metadata": meta, "spec": spec, "status": given["service"]}

"""Writes what is generated of `operator/deploy/monitoring`: the dashboard and the PrometheusRule."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[2] / "operator" / "deploy" / "monitoring"
_HEAD = "# Generated from rules.yaml by `make generate`: do not edit.\n"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_HALF, _WHOLE, _HEIGHT = 12, 24, 8
Json = dict[str, Any]


def files() -> dict[str, str]:
    """Return what is generated: file -> text."""
    panels = yaml.safe_load((FOLDER / "panels.yaml").read_text())
    rules = yaml.safe_load((FOLDER / "rules.yaml").read_text())
    return {
        "dashboard.json": json.dumps(dashboard(panels), indent=2) + "\n",
        "prometheusrule.yaml": _HEAD + yaml.safe_dump(prometheus_rule(rules), sort_keys=False, width=110),
    }


def dashboard(given: Json) -> Json:
    """Return the Grafana dashboard of the panels' table."""
    return {
        "title": given["title"],
        "uid": "llm-servers",
        "schemaVersion": 39,
        "tags": ["llm"],
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_data_source(), _job()]},
        "panels": list(_panels(given["rows"])),
    }


def prometheus_rule(rules: Json) -> Json:
    """Return the rules as an object of the Prometheus Operator."""
    head = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule"}
    return {**head, "metadata": {"name": "llm-servers", "namespace": "llm-operator-system"}, "spec": rules}


def _data_source() -> Json:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _job() -> Json:
    query = 'label_values({__name__=~"llm_operator_leading|release_api_releases"}, job)'
    choice: Json = {"name": "job", "label": "Job", "type": "query", "query": query, "datasource": _SOURCE}
    return {**choice, "includeAll": True, "allValue": ".*", "multi": True, "refresh": 2}


def _panels(rows: list[Json]) -> Iterator[Json]:
    """Yield rows and panels, from left to right and from top to bottom."""
    ids, y = count(1), 0
    for row in rows:
        place = {"x": 0, "y": y, "w": _WHOLE, "h": 1}
        yield {"id": next(ids), "type": "row", "title": row["title"], "gridPos": place, "panels": []}
        x, y = 0, y + 1
        for panel in row["panels"]:
            width = _WHOLE if panel.get("wide") else _HALF
            if x + width > _WHOLE:
                x, y = 0, y + _HEIGHT
            place = {"x": x, "y": y, "w": width, "h": _HEIGHT}
            yield {"id": next(ids), "gridPos": place, **_panel(panel)}
            x += width
        y += _HEIGHT


def _panel(panel: Json) -> Json:
    custom = {"fillOpacity": 20, "stacking": {"mode": "normal"}} if panel.get("stack") else {}
    return {
        "type": "timeseries",
        "title": panel["title"],
        "description": panel.get("says", ""),
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel["unit"], "min": 0, "custom": custom}, "overrides": []},
        "options": {"tooltip": {"mode": "multi"}, "legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {"refId": chr(ord("A") + n), "expr": expr, "legendFormat": legend, "datasource": _SOURCE}
            for n, (legend, expr) in enumerate(panel["queries"].items())
        ],
    }


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()

"""Dashboard and alert rules: right by promtool, and about metrics that exist."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from controlplane.toolbox import Toolbox
from llm_operator.metrics import Metrics as ControllerMetrics
from llm_operator.teardown.model import SKIPPED, Outcome, Stage
from release_api.autoscale.metrics import Metrics as AutoscaleMetrics
from release_api.autoscale.model import Verdict
from release_api.metrics import Metrics as ApiMetrics
from release_api.models import Phase
from support import monitoring

RULES: dict[str, Any] = yaml.safe_load((monitoring.FOLDER / "rules.yaml").read_text())
DASHBOARD: dict[str, Any] = json.loads((monitoring.FOLDER / "dashboard.json").read_text())
Row = dict[str, Any]
CASES: list[Row] = yaml.safe_load((Path(__file__).parent / "alerts.yaml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
_NAME = re.compile(r"\b(?:llm_operator|release_api)_[a-z_]+\b")
_VALUES = re.compile(r'\b(stage|outcome|phase|verdict|result)(=~|!=|=)"([^"]+)"')
KNOWN = {
    "stage": set(Stage),
    "outcome": {*Outcome, SKIPPED},
    "phase": set(Phase),
    "verdict": set(Verdict),
    "result": {"succeeded", "failed", "applied", "refused"},
}


def _metrics() -> dict[str, set[str]]:
    """Return each metric of the code with the names of its series."""
    api = ApiMetrics()
    AutoscaleMetrics(api.registry)
    found: dict[str, set[str]] = {}
    for registry in (ControllerMetrics().registry, api.registry):
        found |= _series(registry)
    return found


def _series(registry: CollectorRegistry) -> dict[str, set[str]]:
    endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
    return {m.name: {m.name + ending for ending in endings[m.type]} for m in registry.collect()}


def _named(texts: list[str]) -> set[str]:
    return {name for text in texts for name in _NAME.findall(text)}


def _promtool(*arguments: str | Path) -> str:
    command = [Toolbox.ready(also=("prometheus",))["promtool"], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_generated() -> None:
    """`make generate` would change nothing."""
    for name, text in monitoring.files().items():
        assert (monitoring.FOLDER / name).read_text() == text, f"{name} is stale: run make generate"


@pytest.mark.parametrize("texts", [QUERIES, [rule["expr"] for rule in ALERTS]], ids=["dashboard", "rules"])
def test_every_metric_that_is_named_exists(texts: list[str]) -> None:
    """A renamed metric would leave an empty panel, or an alarm that never comes."""
    series = set().union(*_metrics().values())
    assert _named(texts) <= series, _named(texts) - series


def test_every_metric_is_on_the_dashboard() -> None:
    """What is measured is also shown."""
    shown = _named(QUERIES)
    assert [name for name, series in _metrics().items() if not series & shown] == []


@pytest.mark.parametrize("text", [*QUERIES, *(rule["expr"] for rule in ALERTS)])
def test_every_label_value_exists(text: str) -> None:
    """A value that a query selects is one that the code writes."""
    for label, _, values in _VALUES.findall(text):
        assert set(values.split("|")) <= KNOWN[label], text


def test_rules_are_rules() -> None:
    """Promtool reads them, and finds as many as there are."""
    said = _promtool("check", "rules", monitoring.FOLDER / "rules.yaml")
    assert f"SUCCESS: {len(ALERTS)} rules found" in said


def test_every_query_of_the_dashboard_parses(tmp_path: Path) -> None:
    """Promtool reads the panels' queries as recording rules."""
    queries = [query.replace("$job", ".*") for query in QUERIES]
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(queries)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"SUCCESS: {len(QUERIES)} rules found" in _promtool("check", "rules", file)


def _played(case: Row) -> Row:
    """Return a case in promtool's own form: quiet at one minute, with its words at another."""
    rule = next(rule for rule in ALERTS if rule["alert"] == case["alert"])
    said = {**rule["annotations"], "summary": case.get("summary", rule["annotations"]["summary"])}
    alert = {"exp_labels": {**rule["labels"], **case.get("labels", {})}, "exp_annotations": said}
    moments = [(case["quiet"], []), (case["fires"], [alert])]
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case["series"].items()],
        "alert_rule_test": [
            {"eval_time": f"{minute}m", "alertname": case["alert"], "exp_alerts": alerts}
            for minute, alerts in moments
        ],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["alert"])
def test_alert(case: Row, tmp_path: Path) -> None:
    """Promtool plays the case: the alert comes in its minute, with its words, and not a minute before."""
    file = tmp_path / "case.yaml"
    rules = str(monitoring.FOLDER / "rules.yaml")
    file.write_text(
        yaml.safe_dump({"rule_files": [rules], "evaluation_interval": "1m", "tests": [_played(case)]})
    )
    assert "SUCCESS" in _promtool("test", "rules", file)


def test_every_alert_has_a_case() -> None:
    """No alert that nobody has ever seen."""
    assert sorted(case["alert"] for case in CASES) == sorted(rule["alert"] for rule in ALERTS)


def test_every_alert_says_what_and_what_to_do() -> None:
    """Severity, summary and description stand in each."""
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)


def test_panels_do_not_overlap() -> None:
    """Every cell of the page belongs to one panel, and every panel has an id of its own."""
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in (panel["gridPos"],)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])

"""The metrics of the programs, from the registries that they are declared on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.metrics import MetricWrapperBase

from llm_operator.metrics import Metrics as ControllerMetrics
from release_api.autoscale.metrics import Metrics as AutoscaleMetrics
from release_api.metrics import Metrics as ApiMetrics
from support.reference.markdown import code, codes, table

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERIES = {"counter": "_total", "histogram": "_bucket", "gauge": ""}


def controller() -> str:
    """Write the metrics of the controller as a table."""
    return _written(ControllerMetrics())


def api() -> str:
    """Write those of the release API and its autoscaler."""
    both = ApiMetrics()
    return _written(both, AutoscaleMetrics(both.registry))


def _written(*declared: object) -> str:
    found = [value for each in declared for value in vars(each).values()]
    rows = [row for metric in found if isinstance(metric, MetricWrapperBase) for row in _rows(metric)]
    return table(("metric", "type", "labels", "what it says"), rows)


def _rows(metric: MetricWrapperBase) -> Iterator[tuple[str, str, str, str]]:
    labels = codes(metric._labelnames)  # noqa: SLF001 - labels without a series are told nowhere else
    for family in metric.describe():
        yield code(family.name + _SERIES[family.type]), family.type, labels, family.documentation

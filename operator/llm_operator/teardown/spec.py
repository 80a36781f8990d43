"""An LLMService as the API server stores it, read for what the controller needs. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from llm_operator.api import FINALIZER
from llm_operator.charts import Chart, Target
from llm_operator.pods import ReleaseName
from llm_operator.resources import Obj

_APPLIED = ("chart", "values", "valuesFrom")
"""The fields of the spec that a revision applies; a change of any other leaves the release alone."""


@dataclass(frozen=True, slots=True)
class Service:
    """One LLMService; `obj` is the whole object, never changed in place."""

    obj: Obj

    @property
    def meta(self) -> Mapping[str, Any]:
        """`metadata`."""
        meta: Mapping[str, Any] = self.obj["metadata"]
        return meta

    @property
    def spec(self) -> Mapping[str, Any]:
        """`spec`."""
        spec: Mapping[str, Any] = self.obj["spec"]
        return spec

    @property
    def status(self) -> Mapping[str, Any]:
        """`status`, empty before anything was written."""
        status: Mapping[str, Any] = self.obj.get("status") or {}
        return status

    @property
    def namespace(self) -> str:
        """The object's namespace, which is the release's too."""
        return str(self.meta["namespace"])

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.meta["name"])

    @property
    def uid(self) -> str:
        """The object's UID: what the release is marked with."""
        return str(self.meta["uid"])

    @property
    def generation(self) -> int:
        """The generation of the spec."""
        return int(self.meta.get("generation") or 0)

    @property
    def annotations(self) -> Mapping[str, str]:
        """The object's annotations."""
        return self.meta.get("annotations") or {}

    @property
    def deleting(self) -> bool:
        """Whether the object has a deletionTimestamp."""
        return bool(self.meta.get("deletionTimestamp"))

    @property
    def finalizers(self) -> tuple[str, ...]:
        """The object's finalizers, in their order."""
        return tuple(self.meta.get("finalizers") or ())

    @property
    def held(self) -> bool:
        """Whether our finalizer is on."""
        return FINALIZER in self.finalizers

    @property
    def suspended(self) -> bool:
        """`spec.suspend`."""
        return bool(self.spec.get("suspend"))

    @property
    def release(self) -> str:
        """The release's name: `spec.releaseName`, else the object's own."""
        return str(self.spec.get("releaseName") or self.name)

    @property
    def pods(self) -> ReleaseName:
        """What names the release's pods."""
        return ReleaseName(self.namespace, self.release, str(self.spec["chart"]["name"]))

    @property
    def target(self) -> Target:
        """Which release helm works on, and as whom."""
        account = self.spec.get("serviceAccountName")
        user = f"system:serviceaccount:{self.namespace}:{account}" if account else None
        return Target(self.namespace, self.release, user)

    @property
    def chart(self) -> Chart:
        """Where the chart comes from."""
        chart = self.spec["chart"]
        if chart.get("oci"):
            reference = f"{chart['oci'].rstrip('/')}/{chart['name']}"
            return Chart(reference, chart["version"], plain_http=bool(chart.get("plainHTTP")))
        return Chart(chart["name"], chart["version"], repository=chart["repository"])

    @property
    def chart_label(self) -> str:
        """The chart as status shows it: name and version."""
        return f"{self.spec['chart']['name']}-{self.spec['chart']['version']}"

    @property
    def digest(self) -> str:
        """A short hash of what a revision applies, for the release's label."""
        applied = {key: self.spec.get(key) for key in _APPLIED}
        text = orjson.dumps(applied, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(text).hexdigest()[:16]

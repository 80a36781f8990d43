"""The LLMService CRD, built from the names, enums and knobs that the code uses. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from llm_operator.api import GROUP, KIND, PLURAL, RELEASE_NAME_LENGTH, VERSION
from llm_operator.teardown.knobs import KNOBS
from llm_operator.teardown.model import Outcome, Phase, Stage
from llm_operator.teardown.status import SHOWN

Schema = dict[str, Any]

_DNS = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_DURATION_RULE = {
    "rule": "self.matches('^([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h)"
    "(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h))*$') || self == '0'",
    "message": "must be a duration of 0s or longer, like 1h30m, 90s or 250ms",
}
_RELEASE_NAME_RULE = {
    "rule": f"has(self.spec.releaseName) || size(self.metadata.name) <= {RELEASE_NAME_LENGTH}",
    "message": f"a name over {RELEASE_NAME_LENGTH} characters needs a spec.releaseName: Helm's own limit",
}
_IMMUTABLE_RULE = {
    "rule": "has(self.releaseName) == has(oldSelf.releaseName)"
    " && (!has(self.releaseName) || self.releaseName == oldSelf.releaseName)",
    "message": "releaseName is immutable: the release would be left behind",
}
_SOURCE_RULE = {
    "rule": "has(self.repository) != has(self.oci)",
    "message": "exactly one of repository and oci must be set",
}


def crd() -> Schema:
    """Build the CustomResourceDefinition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["llmsvc"],
            },
            "versions": [_version()],
        },
    }


def _version() -> Schema:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            _column("Phase", "string", ".status.phase"),
            _column("Stage", "string", ".status.deletion.stage"),
            _column("Pods", "integer", ".status.deletion.podsRemaining"),
            _column("Age", "date", ".metadata.creationTimestamp"),
        ],
        "schema": {
            "openAPIV3Schema": {
                "description": "One Helm release of an LLM server, taken down in stages when it is deleted.",
                **_object(
                    {
                        "apiVersion": {"type": "string"},
                        "kind": {"type": "string"},
                        "metadata": {"type": "object"},
                        "spec": _spec(),
                        "status": _status(),
                    },
                    required=("spec",),
                ),
                "x-kubernetes-validations": [_RELEASE_NAME_RULE],
            }
        },
    }


def _column(name: str, kind: str, path: str) -> Schema:
    return {"name": name, "type": kind, "jsonPath": path}


def _spec() -> Schema:
    fields = {
        "chart": _chart(),
        "values": _free("Values of the chart; they win over valuesFrom."),
        "valuesFrom": _list(_values_source(), "Values from elsewhere, later ones win.", 32),
        "releaseName": _text(
            "Name of the Helm release. Default: the object's name. Immutable.", _DNS, RELEASE_NAME_LENGTH
        ),
        "suspend": {
            "type": "boolean",
            "description": "Do nothing, neither install nor take down; the finalizer stays.",
        },
        "serviceAccountName": _text(
            "Account of this namespace that helm runs as. Default: the controller's own.", _DNS, 253
        ),
        "deletion": _object(
            {knob.field: _duration(f"{knob.meaning} Annotation: {knob.annotation}.") for knob in KNOBS},
            says="How the release is taken down.",
        ),
    }
    spec = _object(fields, required=("chart",), says="What is installed, and how it is taken down.")
    return {**spec, "x-kubernetes-validations": [_IMMUTABLE_RULE]}


def _chart() -> Schema:
    fields = {
        "repository": _text("URL of a classic chart repository.", "^https?://", 2048),
        "oci": _text("OCI reference of the folder that the chart lies in, oci://host/path.", "^oci://", 2048),
        "plainHTTP": {"type": "boolean", "description": "Talk to the OCI registry without TLS."},
        "name": _text("Name of the chart.", r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", 250),
        "version": _text("Version of the chart.", r"^[0-9A-Za-z][-+.0-9A-Za-z]*$", 128),
    }
    chart = _object(fields, required=("name", "version"), says="Which chart, and where it comes from.")
    return {**chart, "x-kubernetes-validations": [_SOURCE_RULE]}


def _values_source() -> Schema:
    fields = {
        "kind": _enum(("ConfigMap", "Secret"), "Kind of the object."),
        "name": _text("Name of the object, in this namespace.", None, 253),
        "key": _text("Key in it. Default: values.yaml.", None, 253),
        "optional": {"type": "boolean", "description": "Pass over it when it is not there."},
    }
    return _object(fields, required=("kind", "name"), says="One object with values.")


def _status() -> Schema:
    release = _object(
        {
            "name": _said("Its name in Helm."),
            "revision": _number("Its revision when it was last ready.", "int64"),
            "chart": _said("Its chart and version, then."),
        },
        says="The Helm release.",
    )
    return _object(
        {
            "phase": _enum(Phase, "Where the service is."),
            "observedGeneration": _number(
                "The generation of the spec that phase and release are about.", "int64"
            ),
            "release": release,
            "conditions": {
                **_list(_condition(), "Ready and Deleting.", 16),
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
            "deletion": _deletion(),
        },
        says="What the controller saw and did.",
    )


_MOMENTS = {
    "startedAt": "When the teardown began.",
    "deadline": "When maxWait is over.",
    "routeRemovedAt": "When the last ModelRoute was gone.",
    "uninstalledAt": "When Helm held the release no more.",
    "podsGoneAt": "When the last pod was gone.",
}


def _deletion() -> Schema:
    return _object(
        {
            "stage": _enum(Stage, "How far it is; stages only move forward."),
            "outcome": _enum(Outcome, "The worst that happened so far."),
            **{name: _moment(says) for name, says in _MOMENTS.items()},
            "podsRemaining": _number("How many pods are waited for.", "int32"),
            "pods": _list(_pod(), "Pods that are waited for.", SHOWN),
            "forceDeleted": _list({"type": "string"}, "Pods that were deleted with grace 0.", SHOWN),
            "message": _said("What it waits for, in words."),
        },
        says="The teardown, from its first stage on.",
    )


def _pod() -> Schema:
    fields = {
        "name": _said("Its name."),
        "phase": _said("Its phase."),
        "node": _said("The node that it runs on."),
        "grace": _said("Its grace period."),
        "deletionTimestamp": _moment("When it has to have ended."),
        "stuck": {"type": "boolean", "description": "Whether it should have ended by now."},
    }
    return _object(fields, says="One pod.")


def _condition() -> Schema:
    fields = {
        "type": _said("Ready or Deleting."),
        "status": _enum(("True", "False", "Unknown"), "Whether it holds."),
        "reason": _said("Why, in one word."),
        "message": _said("Why, in a sentence."),
        "lastTransitionTime": _moment("When the status last changed."),
        "observedGeneration": _number("The generation of the spec that it is about.", "int64"),
    }
    required = ("type", "status", "reason", "lastTransitionTime")
    return _object(fields, required=required, says="One condition.")


def _said(description: str) -> Schema:
    return {"type": "string", "description": description}


def _moment(description: str) -> Schema:
    return {"type": "string", "description": description, "format": "date-time"}


def _number(description: str, size: str) -> Schema:
    return {"type": "integer", "description": description, "format": size}


def _object(properties: Mapping[str, Schema], required: Iterable[str] = (), says: str = "") -> Schema:
    names = list(required)
    given: Schema = {"description": says} if says else {}
    return {
        "type": "object",
        **given,
        "properties": dict(properties),
        **({"required": names} if names else {}),
    }


def _list(items: Schema, description: str, longest: int) -> Schema:
    return {"type": "array", "description": description, "maxItems": longest, "items": items}


def _enum(values: Iterable[str], description: str) -> Schema:
    return {**_said(description), "enum": [str(value) for value in values]}


def _text(description: str, pattern: str | None, longest: int) -> Schema:
    schema: Schema = {"type": "string", "description": description, "minLength": 1, "maxLength": longest}
    return schema | ({"pattern": pattern} if pattern else {})


def _duration(description: str) -> Schema:
    return {
        "type": "string",
        "description": description,
        "maxLength": 64,
        "x-kubernetes-validations": [_DURATION_RULE],
    }


def _free(description: str) -> Schema:
    return {"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": True}

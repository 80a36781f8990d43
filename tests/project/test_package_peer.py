"""Our kinds differ from Modelplane's in what is listed here, and in nothing else.

A manifest, and what either function writes, then fits both. `peer_fields.yaml` records Modelplane's side.
"""

from typing import Any

import pytest
import yaml

from project.schemas import ROOT, nodes, schema_of
from support.product import ADDITIONS

PEER = yaml.safe_load((ROOT / "tests" / "project" / "peer_fields.yaml").read_text())
RECORDED = (
    "type",
    "default",
    "enum",
    "format",
    "pattern",
    "required",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
)
# Whole blocks that are additions; Modelplane's has no field of these names.
ADDED = {"InferenceCluster": tuple(f"{block}.{name}" for block, names in ADDITIONS.items() for name in names)}
# Per kind and field, what ours says instead; None where one of the two does not have the keyword.
DIFFERENCES: dict[str, dict[str, dict[str, object]]] = {
    "InferenceCluster": {
        "spec.cluster.source": {"enum": ["Local", "Existing", "GKE", "EKS", "AKS", "Nebius", "Vultr"]},
        "spec.nodePools": {"maxItems": 64},
        "status.gpuPools": {"maxItems": 64},
    },
    "ServingStack": {
        "spec": {"required": None},
        "spec.identity": {"type": "string", "enum": ["InjectedIdentity"]},
    },
    "GKECluster": {},
    "EKSCluster": {},
    "AKSCluster": {},
    "NebiusCluster": {},
    "VultrCluster": {},
    "InferenceClass": {},
}


def facts(kind: str) -> dict[str, dict[str, Any]]:
    """Give our side in the form of `peer_fields.yaml`."""
    every = {path: {k: node[k] for k in RECORDED if k in node} for path, node in nodes(schema_of(kind))}
    added = ADDED.get(kind, ())
    return {path: fact for path, fact in every.items() if path and not path.startswith(added)}


def expected(kind: str) -> dict[str, dict[str, Any]]:
    """Give Modelplane's side with our differences applied."""
    fields = {path: dict(fact) for path, fact in PEER[kind].items()}
    for path, changes in DIFFERENCES[kind].items():
        merged = fields.setdefault(path, {}) | changes
        fields[path] = {keyword: value for keyword, value in merged.items() if value is not None}
    return fields


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_fields_are_the_peers(kind: str) -> None:
    """Every field has Modelplane's type, default, enum and limits, but for the listed differences."""
    assert facts(kind) == expected(kind)


@pytest.mark.parametrize("kind", ADDED)
def test_additions_are_additions(kind: str) -> None:
    """Modelplane has no field under the names that are added."""
    assert [path for path in PEER[kind] if path.startswith(ADDED[kind])] == []


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_differences_are_differences(kind: str) -> None:
    """No listed difference is one in name only."""
    for path, changes in DIFFERENCES[kind].items():
        for keyword, value in changes.items():
            assert PEER[kind].get(path, {}).get(keyword) != value, f"{path} {keyword}"

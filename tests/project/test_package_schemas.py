"""The schemas that the packages install are complete and sound, as far as that shows without a cluster."""

import pytest

from project.schemas import DEFINITIONS, documents, nodes, problems, schema_of

OURS = ("InferenceCluster", "ServingStack", "Settings")


@pytest.mark.parametrize("kind", OURS)
def test_every_field_is_described(kind: str) -> None:
    """`kubectl explain` says something about every field, in whole sentences."""
    bare = ("{}", "[]", "metadata")
    fields = [(path, node) for path, node in nodes(schema_of(kind)) if not path.endswith(bare)]
    assert [path for path, node in fields if not node.get("description", "").endswith(".")] == []


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_metadata_is_left_to_the_api_server(kind: str) -> None:
    """The API server refuses a schema that says anything of metadata, be it a description."""
    assert schema_of(kind)["properties"].get("metadata", {"type": "object"}) == {"type": "object"}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_every_node_is_structural(kind: str) -> None:
    """Each node has a type of its own, and never both fixed and free fields."""
    for path, node in nodes(schema_of(kind)):
        assert "type" in node, path
        assert not {"properties", "additionalProperties"} <= node.keys(), path
        assert (node["type"] == "array") == ("items" in node), path
        assert set(node.get("required", [])) <= node.get("properties", {}).keys(), path


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_every_default_is_allowed(kind: str) -> None:
    """A default that its own field refuses would refuse the whole XRD."""
    defaults = [(path, node) for path, node in nodes(schema_of(kind)) if "default" in node]
    assert [why for path, node in defaults for why in problems(node["default"], node, path)] == []


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_list_maps_have_required_keys(kind: str) -> None:
    """A list that is a map by its items' keys needs each key in each item."""
    for path, node in nodes(schema_of(kind)):
        keys = node.get("x-kubernetes-list-map-keys", [])
        assert bool(keys) == (node.get("x-kubernetes-list-type") == "map"), path
        assert set(keys) <= set(node.get("items", {}).get("required", [])), path


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_rules_say_what_to_do(kind: str) -> None:
    """Each CEL rule refuses with a sentence of its own instead of the expression."""
    for path, node in nodes(schema_of(kind)):
        for rule in node.get("x-kubernetes-validations", []):
            assert rule["message"].endswith("."), path


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_names_belong_together(kind: str) -> None:
    """An XRD or CRD is called by its plural and its group, and one version of it is served."""
    definition = documents(DEFINITIONS[kind])[0]
    spec = definition["spec"]
    assert spec["names"]["kind"] == kind
    assert definition["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
    (version,) = spec["versions"]
    assert version["name"] == "v1alpha1"
    assert version["served"]
    assert version.get("referenceable") or version.get("storage")


@pytest.mark.parametrize("kind", ["InferenceCluster", "ServingStack"])
def test_printer_columns_show_fields(kind: str) -> None:
    """Each column of `kubectl get` reads a field that there is."""
    (version,) = documents(DEFINITIONS[kind])[0]["spec"]["versions"]
    fields = {f".{path}" for path, _ in nodes(schema_of(kind))}
    assert {column["jsonPath"] for column in version["additionalPrinterColumns"]} <= fields

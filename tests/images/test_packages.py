"""The packages around the images: what is written into them, and that they too are reproducible."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.errors import ControlPlaneError
from controlplane.toolbox import Toolbox
from package.images.sources import ROOT
from support import operator_chart, packages
from support.containers import Container
from support.packages import CONFIGURATION, FUNCTION, Variant


def _stamped(folder: Path, name: str, variant: Variant) -> Path:
    root = folder / name
    shutil.copytree(ROOT / "package" / name, root)
    packages.stamp(root, variant)
    return root


def _meta(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((root / "crossplane.yaml").read_text())
    return found


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        ("", packages.PUBLIC),
        ("registry.example.org/team", "registry.example.org/team/function-inference-cluster"),
    ],
    ids=["as in the tree", "own registry"],
)
def test_where_the_configuration_finds_the_function(tmp_path: Path, registry: str, expected: str) -> None:
    """The dependency names the registry that the Function is pushed to; the providers stay where they are."""
    meta = _meta(_stamped(tmp_path, "configuration", Variant(registry)))
    function, *providers = (dependency["package"] for dependency in meta["spec"]["dependsOn"])
    assert function == expected
    assert {name.rpartition("/")[0] for name in providers} == {"xpkg.crossplane.io/crossplane-contrib"}


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        ("", "function-inference-cluster"),
        ("registry.example.org/team", "team-function-inference-cluster"),
        ("127.0.0.1:5000/a.b/c_d", "a-b-cd-function-inference-cluster"),
    ],
    ids=["as in the tree", "own registry", "dots and underscores"],
)
def test_the_compositions_call_the_name_that_crossplane_gives(
    tmp_path: Path, registry: str, expected: str
) -> None:
    """The installed Function and the one that is looked for as a dependency have the same name."""
    root = _stamped(tmp_path, "configuration", Variant(registry))
    compositions = [yaml.safe_load(path.read_text()) for path in root.glob("apis/*/composition.yaml")]
    called = {step["functionRef"]["name"] for c in compositions for step in c["spec"]["pipeline"]}
    assert called == {expected}


def test_settings_go_into_the_stack_only(tmp_path: Path) -> None:
    """The ServingStack's Composition gets the Settings, the InferenceCluster's keeps its own."""
    file = tmp_path / "settings.yaml"
    file.write_text(
        "{apiVersion: inference.modelplane.ai/v1alpha1, kind: Settings, chartRegistry: oci://x.org/y}"
    )
    root = _stamped(tmp_path, "configuration", Variant(settings=file))
    inputs = {
        path.parent.name: yaml.safe_load(path.read_text())["spec"]["pipeline"][0]["input"]
        for path in root.glob("apis/*/composition.yaml")
    }
    assert inputs["servingstacks"]["chartRegistry"] == "oci://x.org/y"
    assert "chartRegistry" not in inputs["inferenceclusters"]


OWN = {"repository": "oci://mirror.example.org/charts", "version": "7"}


@pytest.mark.parametrize(
    ("registry", "given", "expected"),
    [
        pytest.param("", None, None, id="as in the tree: no chart is published"),
        pytest.param("", {"chartRegistry": "oci://x.org/y"}, None, id="Settings without a registry"),
        pytest.param(
            "registry.example.org/team",
            None,
            {"repository": "oci://registry.example.org/team/charts", "version": "0.3.0"},
            id="own registry",
        ),
        pytest.param(
            "127.0.0.1:5000/team",
            {"chartRegistry": "oci://x.org/y"},
            {"repository": "oci://127.0.0.1:5000/team/charts", "version": "0.3.0", "plainHTTP": True},
            id="on this machine, beside a mirror",
        ),
        pytest.param("registry.example.org/team", {"operatorChart": OWN}, OWN, id="Settings name another"),
        pytest.param("registry.example.org/team", {"operatorChart": None}, None, id="Settings want none"),
    ],
)
def test_where_a_stack_finds_the_controllers_chart(
    tmp_path: Path, registry: str, given: dict[str, Any] | None, expected: dict[str, Any] | None
) -> None:
    """`make push` names the chart that it pushes, unless the user's Settings say otherwise."""
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump({"kind": "Settings", **(given or {})}))
    variant = Variant(registry, file if given is not None else None, "v0.3.0")
    root = _stamped(tmp_path, "configuration", variant)
    for path in root.glob("apis/*/composition.yaml"):
        found = yaml.safe_load(path.read_text())["spec"]["pipeline"][0]["input"]
        wanted = (
            {} if expected is None or path.parent.name != "servingstacks" else {"operatorChart": expected}
        )
        assert {key: found[key] for key in found if key == "operatorChart"} == wanted


@pytest.mark.parametrize("registry", ["", "127.0.0.1:5000/team"], ids=["none", "own"])
def test_the_chart_names_the_image_beside_it(tmp_path: Path, registry: str) -> None:
    """Its Deployment runs the image that `make push` pushes under the same tag; two packages are equal."""
    tools, files = Toolbox.ready(), []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        files.append(packages.pack_chart(tmp_path / name, Variant(registry, version="v0.3.0"), tools))
    assert files[0].name == "llm-operator-0.3.0.tgz"
    assert files[0].read_bytes() == files[1].read_bytes()
    code, said = packages.run([tools["helm"], "template", "x", str(files[0]), "--include-crds"])
    assert code == 0, said
    documents = [document for document in yaml.safe_load_all(said) if document]
    (container,) = next(
        d["spec"]["template"]["spec"]["containers"] for d in documents if d["kind"] == "Deployment"
    )
    assert container["image"] == (f"{registry}/llm-operator:v0.3.0" if registry else "llm-operator:0.3.0")
    assert "CustomResourceDefinition" in {document["kind"] for document in documents}


def test_a_chart_without_its_image_line_is_one_clear_line(tmp_path: Path) -> None:
    """A chart whose values have changed is not pushed with another image than its own."""
    (tmp_path / "values.yaml").write_text("image: {repository: other}\n")
    with pytest.raises(ControlPlaneError, match="what would name the image"):
        operator_chart.stamp(tmp_path / "values.yaml", "a.b/c", "v1")


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        ("127.0.0.1:5000/team", True),
        ("127.1.2.3/team", True),
        ("10.0.0.1:5000/team", False),
        ("registry.example.org/team", False),
    ],
)
def test_plain_http_is_for_this_machine_only(registry: str, *, expected: bool) -> None:
    """Helm is told to do without TLS where Crossplane and crane do so by themselves."""
    command = operator_chart.push(Path("a.tgz"), registry, Toolbox.ready())
    assert ("--plain-http" in command) == expected
    assert f"oci://{registry}/charts" in command


@pytest.mark.parametrize(
    "registry", ["", "team", "localhost/team", "registry.example.org", "https://a.b/c", "a.b/T"]
)
def test_no_registry_is_one_clear_line(registry: str) -> None:
    """What neither Crossplane nor the CLI would take is refused before anything is built."""
    with pytest.raises(ControlPlaneError, match="give host/organisation"):
        packages.check_registry(registry)


@pytest.mark.parametrize("registry", ["registry.example.org/team", "127.0.0.1:5000/team", "ghcr.io/a/b"])
def test_registries(registry: str) -> None:
    """A port and a longer path are fine."""
    packages.check_registry(registry)


def test_nothing_built_is_one_clear_line(tmp_path: Path) -> None:
    """Pushing what was not built says what is missing."""
    with pytest.raises(ControlPlaneError, match=r"has no llm-operator\.tar, .*: run `make packages`"):
        packages.push(tmp_path, "a.b/c", "v1", Toolbox.ready(), packages.run)


@pytest.fixture
def twice(built: Path, tmp_path: Path) -> list[Path]:
    """Return two folders with both packages, built one after the other around the same image."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        (folder / f"{FUNCTION}.tar").symlink_to(built / f"{FUNCTION}.tar")
        packages.build_packages(folder, Variant("registry.example.org/team"), Toolbox.ready())
    return folders


def test_packages_are_reproducible_and_carry_the_image(
    twice: list[Path], built: Path, tmp_path: Path
) -> None:
    """Both packages come out equal; the Function's has the image's layers and configuration below."""
    for name in (FUNCTION, CONFIGURATION):
        digests = {hashlib.sha256((folder / f"{name}.xpkg").read_bytes()).hexdigest() for folder in twice}
        assert len(digests) == 1, name
    image, package = _config(built / f"{FUNCTION}.tar"), _config(twice[0] / f"{FUNCTION}.xpkg")
    assert package["rootfs"]["diff_ids"][:-1] == image["rootfs"]["diff_ids"]
    for key in ("Entrypoint", "Env", "User", "WorkingDir", "ExposedPorts"):
        assert package["config"][key] == image["config"][key], key
    container = Container.unpack(twice[0] / f"{FUNCTION}.xpkg", tmp_path / "root")
    documents = yaml.safe_load_all((container.root / "package.yaml").read_text())
    assert [document["kind"] for document in documents if document] == [
        "Function",
        "CustomResourceDefinition",
    ]


def _config(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as image:
        (head,) = json.loads(_read(image, "manifest.json"))
        found: dict[str, Any] = json.loads(_read(image, head["Config"]))
    return found


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    assert member is not None
    return member.read()

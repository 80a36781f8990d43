"""The Dockerfile, the manifests and the locks say the same as the table of images."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from controlplane.catalog import MODULES
from package.images import fetch, sources, table
from package.images.errors import ImageError
from package.images.sources import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCKERFILE = (ROOT / "package" / "images" / "Dockerfile").read_text().replace("\\\n", " ")
STAGES = {
    match[2]: (match[1], match[3])
    for match in re.finditer(r"^FROM (\S+) AS (\S+)\n(.*?)(?=^FROM|\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)
}


def _instruction(stage: str, name: str) -> str:
    (found,) = re.findall(rf"^{name} (.*)$", STAGES[stage][1], re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("row", table.IMAGES, ids=lambda row: str(row.name))
def test_the_dockerfile_configures_the_same(row: table.Image) -> None:
    """The stage of the image's name has its entrypoint and port, on the base that all share."""
    base, body = STAGES[row.name]
    assert base == "base"
    assert yaml.safe_load(_instruction(row.name, "ENTRYPOINT")) == list(row.entrypoint)
    assert _instruction(row.name, "EXPOSE") == " ".join(str(port) for port in row.ports)
    (files,) = re.findall(r"COPY --from=(\S+) /image/ /", body)
    assert f"package.images root {row.name} " in STAGES[files][1]


def test_the_dockerfile_has_the_environment_and_the_user() -> None:
    """Both images share them."""
    assert STAGES["base"][0] == "scratch"
    variables = dict(pair.split("=", 1) for pair in _instruction("base", "ENV").split())
    assert variables == table.ENVIRONMENT
    assert _instruction("base", "USER") == f"{table.USER}:{table.USER}"


def test_the_dockerfile_builds_the_same_helm() -> None:
    """The same Go module and version, the same flags: a program of the same hash."""
    base, body = STAGES["helm"]
    assert base == f"golang:{fetch_go()}-{table.RELEASE}"
    (module,) = (module for module in MODULES if module.folder == "helm")
    assert "tests/controlplane/binaries/helm" in body
    assert '-trimpath -buildvcs=false -ldflags "-s -w"' in body
    assert body.strip().endswith(module.commands["helm"])


def fetch_go() -> str:
    """Return the recorded version of Go, as Docker's images name it."""
    recorded: dict[str, Any] = yaml.safe_load(sources.PROGRAMS.read_text())
    return str(recorded["helm"]["go"]).removeprefix("go")


def test_the_deployment_runs_the_image_as_it_is_meant() -> None:
    """The controller's Deployment and its image agree on command, user and port."""
    deployment = yaml.safe_load((ROOT / "operator" / "deploy" / "deployment.yaml").read_text())
    pod = deployment["spec"]["template"]["spec"]
    row = table.image("llm-operator")
    assert pod["containers"][0]["command"] == list(row.entrypoint)
    assert pod["containers"][0]["image"] == row.name
    assert pod["securityContext"]["runAsUser"] == table.USER
    assert [port["containerPort"] for port in pod["containers"][0]["ports"]] == list(row.ports)
    assert {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]} == {
        table.ENVIRONMENT["HOME"]
    }


def test_requirements_are_pinned_with_hashes() -> None:
    """Every line of the lock files that names a version is followed by hashes."""
    for row in table.IMAGES:
        text = (ROOT / row.requirements).read_text()
        pins = re.findall(r"^\S+==\S+.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
        assert pins
        assert [pin for pin in pins if "--hash=sha256:" not in pin] == []


def test_images_and_tests_use_the_same_versions() -> None:
    """What is tested is what is shipped."""
    tested = set(re.findall(r"^(\S+==\S+)", (ROOT / "tests" / "requirements.lock").read_text(), re.MULTILINE))
    for row in table.IMAGES:
        shipped = re.findall(r"^(\S+==\S+)", (ROOT / row.requirements).read_text(), re.MULTILINE)
        assert set(shipped) <= tested


def test_no_apt_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where Debian's packages cannot be fetched, the error names both ways out."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fetch, "APT_HELPER", tmp_path / "none")
    with pytest.raises(ImageError, match=r"build on Debian or Ubuntu, or with a container engine"):
        fetch.deb(fetch.locked()[0])


def test_a_version_that_is_gone_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """When the mirror has moved on, the error names the command that pins anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(table, "MIRROR", f"file://{tmp_path}")
    with pytest.raises(ImageError, match="no longer has this version, `make lock-images` pins"):
        fetch.deb(fetch.locked()[0])

"""What is in the images, and what is not; the bill of materials says the same."""

from __future__ import annotations

import json
import re
import stat
import tarfile
from typing import TYPE_CHECKING, Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from package.images import table

if TYPE_CHECKING:
    from pathlib import Path

    from support.containers import Container

# Compressed, in MB; a new dependency that is large shows here first.
LARGEST = {"function-inference-cluster": 25, "llm-operator": 45}
SHELLS_AND_INSTALLERS = {"sh", "bash", "dash", "pip", "pip3", "apt", "dpkg", "perl", "su", "mount"}


def _bill(built: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((built / f"{name}.cdx.json").read_text())
    return found


def _listed(built: Path, name: str, kind: str) -> set[tuple[str, str]]:
    parts = _bill(built, name)["components"]
    return {(part["name"], part["version"]) for part in parts if part["purl"].startswith(f"pkg:{kind}/")}


def test_it_is_small(built: Path, name: str) -> None:
    """An archive stays below its limit."""
    assert (built / f"{name}.tar").stat().st_size < LARGEST[name] * 1_000_000


def test_it_runs_as_nobody(container: Container) -> None:
    """The image names a user without any rights by number, as `runAsNonRoot` asks for."""
    assert container.config["User"] == f"{table.USER}:{table.USER}"
    assert f":{table.USER}:{table.USER}:" in (container.root / "etc" / "passwd").read_text()


def test_nothing_raises_rights_or_can_be_written(container: Container) -> None:
    """No file is set-user-ID, and only /tmp may be written by others."""
    for path in container.root.rglob("*"):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            assert not mode & (stat.S_ISUID | stat.S_ISGID), path
            assert not mode & stat.S_IWOTH or path == container.root / "tmp", path


def test_only_what_runs_is_there(container: Container) -> None:
    """No shell, installer, compiled leftovers, documentation, tests or translations; but every licence."""
    files = [str(path.relative_to(container.root)) for path in container.root.rglob("*") if path.is_file()]
    assert {file.rpartition("/")[2] for file in files if "bin/" in file} & SHELLS_AND_INSTALLERS == set()
    assert [f for f in files if re.search(r"\.pyc$|/(man|locale|info|tests?)/", f)] == []
    packages = {path.name for path in (container.root / "var/lib/dpkg/status.d").iterdir()}
    licences = {path.parent.name for path in (container.root / "usr/share/doc").glob("*/copyright")}
    # Packages of one source share the folder of one of them.
    shared = {"libgcc-s1", "libstdc++6", "libpython3.11-stdlib", "python3.11-minimal"}
    assert packages - licences <= shared


def test_the_bill_is_valid(built: Path, name: str) -> None:
    """The bill of materials is CycloneDX 1.6, strictly."""
    text = (built / f"{name}.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_the_image_carries_its_bill(built: Path, container: Container, name: str) -> None:
    """The file in the image is the one that was written beside it."""
    inside = container.root / "usr/share/sbom" / f"{name}.cdx.json"
    assert inside.read_bytes() == (built / f"{name}.cdx.json").read_bytes()


def test_the_bill_names_every_debian_package(built: Path, container: Container, name: str) -> None:
    """What the image's own package records say is what is listed, no more and no less."""
    found = set()
    for path in (container.root / "var/lib/dpkg/status.d").iterdir():
        fields = dict(re.findall(r"^(\w+): (.*)$", path.read_text(), re.MULTILINE))
        found.add((fields["Package"], fields["Version"]))
    assert _listed(built, name, "deb") == found


def test_the_bill_names_every_python_package(built: Path, container: Container, name: str) -> None:
    """The installed distributions are those of the lock file and those that are listed."""
    folders = (container.root / table.SITE).glob("*.dist-info")
    installed = {tuple(folder.name.removesuffix(".dist-info").rsplit("-", 1)) for folder in folders}
    listed = _listed(built, name, "pypi")
    assert {(_normal(n), v) for n, v in installed} == {(_normal(n), v) for n, v in listed}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def test_the_bill_names_the_modules_of_helm(built: Path) -> None:
    """The controller's list has helm itself and the Go modules that its binary names."""
    names = {part for part, _ in _listed(built, "llm-operator", "golang")}
    assert {"helm.sh/helm/v4", "k8s.io/client-go"} <= names
    ((program, go),) = _listed(built, "llm-operator", "generic")
    assert (program, go[:4]) == ("helm", "go1.")


def test_lower_layers_are_shared(built: Path) -> None:
    """Both images stand on the same first layer, which a node pulls once."""
    firsts = set()
    for row in table.IMAGES:
        manifest = _member(built / f"{row.name}.tar")
        firsts.add(manifest["Layers"][0])
    assert len(firsts) == 1


def _member(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as image:
        member = image.extractfile("manifest.json")
        assert member is not None
        (found,) = json.loads(member.read())
    return dict(found)

"""The pure parts of the image builder, as tables."""

from __future__ import annotations

import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from package.images import archive, buildinfo, deb, fetch, lock, sbom, sources, table, tree, wheel
from package.images.errors import ImageError
from package.images.tree import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTION = table.image("function-inference-cluster")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6"),
        ("lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2"),
        ("bin", "usr/bin"),
        ("usr/lib/os-release", "usr/lib/os-release"),
        ("library/x", "library/x"),
    ],
    ids=["lib", "lib64", "folder itself", "already there", "only alike"],
)
def test_paths_of_a_merged_usr(path: str, expected: str) -> None:
    """Debian 12's packages still name folders that are links by now."""
    assert tree.usr_merged(path) == expected


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        (tree.text("a", "x"), tree.text("a", "x"), True),
        (tree.text("a", "x"), tree.text("a", "y"), False),
        (tree.folder("a"), tree.folder("a", 0o700), True),
        (tree.folder("a"), tree.text("a", "x"), False),
        (tree.link("a", "b"), tree.link("a", "c"), False),
    ],
    ids=["equal files", "files that differ", "folders", "folder and file", "links that differ"],
)
def test_merging(first: Entry, second: Entry, fits: bool) -> None:  # noqa: FBT001 -- a column
    """Two sources may bring the same file, but not two different ones under one name."""
    if fits:
        assert tree.merged([first, second]) == {"a": first}
    else:
        with pytest.raises(ImageError, match=r"both bring /a"):
            tree.merged([first, second])


def test_folders_follow_what_is_kept() -> None:
    """Parents are added, folders without content go, but one with rights of its own stays; all in order."""
    entries = [
        tree.text("b/c/d", ""),
        tree.folder("empty"),
        tree.folder("tmp", 0o1777),
        tree.folder("b", 0o750),
    ]
    found = tree.with_parents(tree.merged(entries))
    assert [(e.path, e.mode) for e in found.values()] == [
        ("b", 0o750),
        ("b/c", 0o755),
        ("b/c/d", 0o644),
        ("tmp", 0o1777),
    ]


def test_what_is_left_out() -> None:
    """A pattern leaves out, `kept` saves from it."""
    paths = ["usr/share/doc/x/copyright", "usr/share/doc/x/README", "usr/bin/x"]
    left = tree.without([tree.text(p, "") for p in paths], table.LEFT_OUT, table.KEPT)
    assert [entry.path for entry in left] == [paths[0], paths[2]]


def _tar(*members: tuple[str, bytes, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as target:
        for name, kind, data in members:
            header = tarfile.TarInfo(name)
            header.type, header.size, header.mode, header.linkname = kind, len(data), 0o4755, "./usr/bin/one"
            target.addfile(header, io.BytesIO(data))
    return lzma.compress(out.getvalue())


def _ar(**members: bytes) -> bytes:
    out = b"!<arch>\n"
    for name, data in members.items():
        out += f"{name.replace('_', '.'):<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode()
        out += data + b"\n" * (len(data) % 2)
    return out


CONTROL = b"Package: one\nVersion: 1:2\nDescription: short\n long: text\n"
CONTROL_TAR = _tar(("./control", tarfile.REGTYPE, CONTROL))


def test_a_debian_package() -> None:
    """Fields, files, links and hard links are read; rights to act as another are dropped."""
    data = _tar(
        ("./usr/bin/one", tarfile.REGTYPE, b"x"),
        ("./usr/bin/two", tarfile.LNKTYPE, b""),
        ("./bin/three", tarfile.SYMTYPE, b""),
    )
    found = deb.read(_ar(debian_binary=b"2.0\n", control_tar_xz=CONTROL_TAR, data_tar_xz=data))
    assert (found.name, found.version, found.fields["Description"]) == ("one", "1:2", "short")
    assert found.entries == (
        Entry("usr/bin/one", mode=0o755, data=b"x"),
        Entry("usr/bin/two", mode=0o755, data=b"x"),
        Entry("usr/bin/three", "link", 0o777, target="./usr/bin/one"),
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK", "does not begin as an ar archive"),
        (_ar(control_tar_xz=CONTROL_TAR), "no control and data archive"),
        (
            _ar(control_tar_xz=CONTROL_TAR, data_tar_xz=_tar(("./dev/null", tarfile.CHRTYPE, b""))),
            "/dev/null is neither file",
        ),
    ],
    ids=["not ar", "no data", "a device"],
)
def test_no_debian_package(content: bytes, says: str) -> None:
    """What cannot be taken is refused with the reason."""
    with pytest.raises(ImageError, match=says):
        deb.read(content)


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ("pkg/a.py", "pkg/a.py"),
        ("pkg-1.data/purelib/pkg/a.py", "pkg/a.py"),
        ("pkg-1.data/platlib/pkg/a.so", "pkg/a.so"),
        ("pkg-1.data/scripts/run", ""),
        ("pkg-1.data/headers/a.h", ""),
    ],
    ids=["root", "purelib", "platlib", "script", "header"],
)
def test_where_a_wheel_puts_its_files(member: str, expected: str) -> None:
    """Files go to the site folder; what only an installation makes sense of is left out."""
    assert wheel.site_path(member) == expected


def _wheel(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in names:
            target.writestr(name, "Name: Pkg\nVersion: 1\nLicense-Expression: MIT\n\n")
    return out.getvalue()


def test_a_wheel() -> None:
    """Name, version and licence come from its metadata."""
    found = wheel.read(_wheel("pkg/b.py", "pkg/a.py", "pkg-1.dist-info/METADATA"))
    assert (found.name, found.version, found.licence) == ("Pkg", "1", "MIT")
    assert [entry.path for entry in found.entries] == ["pkg-1.dist-info/METADATA", "pkg/a.py", "pkg/b.py"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wheel.read(_wheel("pkg/a.py")), "it has 0 METADATA files"),
        (lambda: wheel.site_path("pkg-1.data/elsewhere/x"), "'elsewhere' is no kind of data"),
        (lambda: buildinfo.read(b"\x7fELF"), "carries no Go build information"),
        (lambda: lock.parse(""), "the mirror has no base-files, ca-certificates"),
        (lambda: sources.own(Path("/nowhere"), ()), "No such file"),
    ],
    ids=["no metadata", "unknown data", "no Go program", "not on the mirror", "no tree"],
)
def test_clear_refusals(call: Callable[[], object], says: str) -> None:
    """Bad input gets one error that says what is wrong."""
    with pytest.raises((ImageError, OSError), match=says):
        call()


def test_build_information() -> None:
    """A Go program's modules are read out of it, replaced ones as what replaced them."""
    mark = b"m" * 16
    text = "path\tcmd\nmod\tcmd\t(devel)\ndep\ta.org/x\tv1\th1:\ndep\tb.org/y\tv2\n=>\tc.org/z\tv3\th1:\n"
    modules = mark + text.encode() + mark
    strings = b"\x08go1.26.8" + bytes([len(modules) & 0x7F | 0x80, len(modules) >> 7]) + modules
    program = b"\x7fELF" + b"\xff Go buildinf:" + bytes([8, 2]) + b"\0" * 16 + strings
    found = buildinfo.read(program)
    assert found.go == "go1.26.8"
    assert found.modules == (buildinfo.Module("a.org/x", "v1"), buildinfo.Module("c.org/z", "v3"))


def test_pinning_reads_apt() -> None:
    """Path and hash of each package come from what apt prints."""
    lines = [
        f"'https://m.org/debian/pool/{n}_1%2b2_amd64.deb' {n}_1+2_amd64.deb 9 SHA256:{'a' * 64}"
        for n in table.debian_packages()
    ]
    found = lock.parse("\n".join(lines))
    assert [package["name"] for package in found] == list(table.debian_packages())
    assert found[0]["path"] == "debian/pool/base-files_1%2b2_amd64.deb"


def test_the_lock_is_complete() -> None:
    """Every package of the table is pinned, and nothing else."""
    assert [package.name for package in fetch.locked()] == list(table.debian_packages())


def test_a_layer_names_no_time_and_no_user() -> None:
    """A layer's tar file has root's names only by number, and one time."""
    content = archive.tar(tree.with_parents({"a/b": tree.text("a/b", "x")}))
    with tarfile.open(fileobj=io.BytesIO(content)) as found:
        seen = [(m.name, m.uid, m.gid, m.uname, m.gname, m.mtime) for m in found]
    assert seen == [("a", 0, 0, "", "", 0), ("a/b", 0, 0, "", "", 0)]


def test_equal_parts_give_one_bill() -> None:
    """Order and repetition of the parts do not matter; a version does."""
    one, two = sbom.Component.pypi("A_b", "1", "MIT"), sbom.Component.golang("x.org/Y", "v1+z")
    first = sbom.render(FUNCTION, "1", [one, two])
    assert first == sbom.render(FUNCTION, "1", [two, one, two])
    other = sbom.render(FUNCTION, "1", [sbom.Component.pypi("A_b", "2", "MIT"), two])
    assert json.loads(other)["serialNumber"] != json.loads(first)["serialNumber"]
    assert [one.purl, two.purl] == ["pkg:pypi/a-b@1", "pkg:golang/x.org/y@v1%2Bz"]

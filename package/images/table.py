"""What each image is: one row an image. Data only."""

from __future__ import annotations

from dataclasses import dataclass

USER = 65532
SITE = "usr/local/lib/python3.11/dist-packages"
APP = "app"
PLATFORM = {"os": "linux", "architecture": "amd64"}
MIRROR = "https://deb.debian.org"
RELEASE = "bookworm"
# Where apt looks when versions are pinned anew: archive and suite.
SUITES = (("debian", RELEASE), ("debian", f"{RELEASE}-updates"), ("debian-security", f"{RELEASE}-security"))

# The interpreter, the libraries that it and the wheels load, and what tells a scanner that this is Debian.
# Named one by one: what Debian's dependencies would add (a shell, perl, debconf) serves an installation.
INTERPRETER = (
    "base-files",
    "libbz2-1.0",
    "libc6",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "liblzma5",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libssl3",
    "libstdc++6",
    "libuuid1",
    "python3.11-minimal",
    "zlib1g",
)

AUTHORITIES = "ca-certificates"

# `*` also matches slashes. Licences stay.
KEPT = ("usr/share/doc/*/copyright", "usr/share/common-licenses/*", "*.dist-info/*")
LEFT_OUT = (
    "etc/[!o]*",  # /etc/os-release stays; passwd and the like are written below
    "usr/include/*",
    "usr/lib/binfmt.d/*",
    "usr/share/base-files/*",
    "usr/share/binfmts/*",
    "usr/share/bug/*",
    "usr/share/doc/*",
    "usr/share/info/*",
    "usr/share/lintian/*",
    "usr/share/locale/*",
    "usr/share/man/*",
    "usr/share/pixmaps/*",
    "usr/share/applications/*",
    "usr/share/python3/*",
    "usr/share/gdb/*",
    "usr/share/gcc/*",
    "usr/lib/x86_64-linux-gnu/gconv/*",  # conversions between character sets that no program here asks for
    "usr/lib/x86_64-linux-gnu/engines-3/*",
    "usr/lib/python3.11/sitecustomize.py",  # a link into /etc
    "usr/lib/python3.11/ensurepip/*",
    "usr/lib/python3.11/idlelib/*",
    "usr/lib/python3.11/lib2to3/*",
    "usr/lib/python3.11/pydoc_data/*",
    "usr/lib/python3.11/tkinter/*",
    "usr/lib/python3.11/turtle*",
    "usr/lib/python3.11/sqlite3/*",
    "usr/lib/python3.11/curses/*",
    "usr/lib/python3.11/dbm/*",
    "usr/lib/python3.11/crypt.py",
    # Extension modules whose libraries are not there.
    "usr/lib/python3.11/lib-dynload/_crypt*",
    "usr/lib/python3.11/lib-dynload/_curses*",
    "usr/lib/python3.11/lib-dynload/_dbm*",
    "usr/lib/python3.11/lib-dynload/_sqlite3*",
    "usr/lib/python3.11/lib-dynload/nis*",
    "usr/lib/python3.11/lib-dynload/readline*",
    # What wheels carry beyond what runs.
    "*/tests/*",
    "*/test/*",
    "*/__pycache__/*",
    "*.pyi",
    "*.pyx",
    "*.pxd",
    "*.c",
    "*.h",
)


@dataclass(frozen=True)
class Image:
    """One image.

    `requirements` is a lock file with hashes, `sources` are (folder of the tree, import name) pairs.
    `programs` go into /usr/local/bin; who builds hands them in. `certificates` adds the public authorities.
    `tools` are (Debian package, pattern of what is taken from it) pairs.
    """

    name: str
    title: str
    requirements: str
    sources: tuple[tuple[str, str], ...]
    entrypoint: tuple[str, ...]
    programs: tuple[str, ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    certificates: bool = False
    ports: tuple[int, ...] = ()


IMAGES = (
    Image(
        "function-inference-cluster",
        "The composition function",
        "package/requirements.lock",
        (("function", "function"),),
        ("python", "-m", "function"),
        ports=(9443,),
    ),
    Image(
        "llm-operator",
        "The LLMService controller and the release API",
        "package/operator-requirements.lock",
        (("operator/llm_operator", "llm_operator"), ("operator/release_api", "release_api")),
        ("python", "-m", "llm_operator.teardown.main"),
        programs=("helm",),
        # Every helm is started through setpriv, so that it ends with the controller.
        tools=(("util-linux", "usr/bin/setpriv"), ("libcap-ng0", "usr/lib/*/libcap-ng.so.*")),
        certificates=True,
        ports=(8080,),
    ),
)

ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 -- the one folder that is writable, and empty at the start
    "PATH": "/usr/local/bin:/usr/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": f"/{APP}",
    "PYTHONUNBUFFERED": "1",
    "PYTHONUTF8": "1",
}


def image(name: str) -> Image:
    """Return the row of that name."""
    return next(row for row in IMAGES if row.name == name)


def packages(row: Image) -> set[str]:
    """Return the Debian packages of one image."""
    extra = {AUTHORITIES} if row.certificates else set()
    return {*INTERPRETER, *(package for package, _ in row.tools), *extra}


def debian_packages() -> tuple[str, ...]:
    """Return every Debian package that some image needs."""
    return tuple(sorted(set().union(*map(packages, IMAGES))))

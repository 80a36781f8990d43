"""The command line: `python -m package.images build|root|lock|record|requirements`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from package.images import lock, sources, table, write
from package.images.errors import ImageError


def main() -> int:
    """Run one command and return its exit code."""
    parsed = _parser().parse_args()
    try:
        _run(parsed)
    except ImageError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _run(parsed: argparse.Namespace) -> None:
    if parsed.command == "lock":
        lock.lock()
    elif parsed.command == "requirements":
        sys.stdout.writelines(f"{line}\n" for line in sources.requirements(sources.ROOT, parsed.extra))
    elif parsed.command == "record":
        sources.record(dict(parsed.program))
    elif parsed.command == "root":
        write.root(parsed.image, parsed.output, dict(parsed.program))
    else:
        built = write.build(parsed.image, parsed.output, dict(parsed.program))
        sys.stdout.write(f"{built.archive}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m package.images", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("lock", help="pin the Debian packages at what the mirror has now")
    build = commands.add_parser("build", help="write an image as one archive, with its bill of materials")
    root = commands.add_parser("root", help="write an image's file tree as a tar file")
    record = commands.add_parser("record", help="record the hashes of programs")
    requirements = commands.add_parser("requirements", help="print what an extra of the project asks for")
    requirements.add_argument("extra")
    for command in (build, root):
        command.add_argument("image", choices=[row.name for row in table.IMAGES])
        command.add_argument("--output", type=Path, default=Path("build"))
    for command in (build, root, record):
        command.add_argument("--program", action="append", default=[], type=_program, metavar="NAME=PATH")
    return parser


def _program(value: str) -> tuple[str, Path]:
    name, _, path = value.partition("=")
    return name, Path(path)


sys.exit(main())

"""The commands that a document gives its reader: in fenced blocks, and in running text.

A document's text goes in, its commands come out, each as it is to be typed, with the heading above it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "examples/README.md",
    "operator/README.md",
    "operator/modelctl/README.md",
    "operator/release_api/README.md",
    "package/README.md",
    "policies/README.md",
)
# What a command begins with, after words such as `export` and `X=y`.
_PROGRAMS = (
    r"(?:crane|crossplane|curl|docker|echo|for|helm|kubectl|make|modelctl|openssl|podman|pytest|python3?|"
    r"sh|terraform|timeout|\.venv/bin/\w+)"
)
_COMMAND = re.compile(rf"export [A-Z]+=\S|(?:[A-Z]+=\S+ )*{_PROGRAMS} \S")
# `[-o json]` and `FILE|-`: what may be given, not what is.
_SYNOPSIS = re.compile(r" \[[-A-Z]|[A-Z]\|")
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_SHELLS = {"": "", "bash": "", "console": "$ "}
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Command(NamedTuple):
    """A command, the heading above it, and the number of its block in the document, 0 for none."""

    text: str
    heading: str
    block: int


def read(document: str) -> list[Command]:
    """Return the commands of a document of the tree, in order."""
    return extract((ROOT / document).read_text())


def every() -> dict[str, list[str]]:
    """Return the commands of all documents, and the documents that each stands in."""
    found: dict[str, list[str]] = {}
    for document in DOCUMENTS:
        for text in dict.fromkeys(command.text for command in read(document)):
            found.setdefault(text, []).append(document)
    return found


def shown(document: str) -> list[tuple[str, str]]:
    """Return the commands of a document's transcripts, each with what stands below it."""
    blocks = [
        block for language, block in _FENCE.findall((ROOT / document).read_text()) if language == "console"
    ]
    parts = [part.partition("\n") for block in blocks for part in block.removeprefix("$ ").split("\n$ ")]
    return [(command, f"{output.rstrip()}\n" if output.strip() else "") for command, _, output in parts]


def extract(text: str) -> list[Command]:
    """Return the commands of a text, in order."""
    blocks = [
        (found.start(), each, number)
        for number, found in enumerate(_FENCE.finditer(text), 1)
        for each in _of_block(*found.groups())
    ]
    prose = _FENCE.sub(lambda found: " " * len(found[0]), text)
    spans = [
        (found.start(), " ".join(found[1].replace("\\|", "|").split()), 0) for found in _SPAN.finditer(prose)
    ]
    headings = [(found.start(), found[1]) for found in _HEADING.finditer(prose)]
    return [
        Command(each, next((title for at, title in reversed(headings) if at < start), ""), block)
        for start, each, block in sorted([*blocks, *spans], key=lambda found: found[0])
        if _COMMAND.match(each) and not _SYNOPSIS.search(each)
    ]


def _of_block(language: str, block: str) -> Iterator[str]:
    """Yield what is typed in a block: continued lines joined, lines that belong together in one."""
    if language not in _SHELLS:
        return
    prompt = _SHELLS[language]
    lines = [line.removeprefix(prompt) for line in block.splitlines() if line.startswith(prompt)]
    typed = ""
    for line in lines:
        typed += re.sub(r"(?:^|\s+)#(?:\s.*|$)", "", line).strip()
        if typed.endswith("\\"):
            typed = f"{typed.removesuffix(chr(92)).strip()} "
        elif typed and not _is_whole(typed):
            typed += "\n"
        elif typed:
            yield typed
            typed = ""


def _is_whole(typed: str) -> bool:
    """Say whether a shell would begin to run this; a line of output may be anything."""
    if not _COMMAND.match(typed):
        return True
    return (
        subprocess.run(["bash", "-n"], input=typed, text=True, capture_output=True, check=False).returncode
        == 0
    )

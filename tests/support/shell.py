"""A person at a terminal who types what the documents say, and the transcript of that.

Commands are those of tests/project/commands.yaml, by name; what stands in them for something of the
reader's own (NAME, NS, ...) is filled in before they run, and put back into what they print, so that a
transcript reads as the documents do. What differs from run to run is masked.

After a change that is meant, `RECORD=1 .venv/bin/python -m pytest FILE` writes the transcripts of a file of
tests anew; read the difference.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from support import documented
from support.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from controlplane.toolbox import Toolbox

VENV = Path(sys.executable).parent
_SECONDS = 600
_MASKS = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC|\+00:00)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\bsha256:[0-9a-f]+"), "DIGEST"),
    (re.compile(r"-[0-9a-f]{12}\b"), "-HASH"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), "TOKEN"),
    (re.compile(r"\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b"), "AGE"),
    (re.compile(r'((?:resourceV|plan-v)ersion: )"\d+"'), r'\1"N"'),
    (re.compile(r"(holderIdentity: ).*"), r"\1HOLDER"),
    (re.compile(r" {2,}"), "  "),  # columns are as wide as their widest entry
    (re.compile(r" +$", re.MULTILINE), ""),
)


class Shell:
    """One person's shell and what was seen in it."""

    def __init__(
        self, tools: Toolbox, folder: Path, kubeconfig: Path, *, where: Path = ROOT, **names: str
    ) -> None:
        """Take the programs, a folder for what they keep, and what the placeholders stand for."""
        self._where, self._names = where, names
        self.seen: list[str] = []
        self.env = {**_fresh_environment(), "HOME": str(folder), "KUBECONFIG": str(kubeconfig)}
        # modelctl and python are those of the environment that the tests run in.
        self.env["PATH"] = f"{programs(tools, folder / 'path')}:{VENV}:{os.environ['PATH']}"

    def __call__(
        self,
        name: str,
        given: Mapping[str, str] | None = None,
        *,
        code: int = 0,
        part: Callable[[str], str] = str,
    ) -> str:
        """Run the command of a row and return what it printed: its errors too when it failed.

        `given` fills in what it alone has, `code` is how it has to end, and `part` picks what is compared.
        """
        typed = documented.command(name)
        done = self.type(filled_in(typed, {**self._names, **(given or {})}))
        assert done.returncode == code, f"{typed}: {done.returncode}, not {code}: {done.stdout}{done.stderr}"
        documented.note(typed)
        said = done.stdout + (done.stderr if code else "")
        ended = f"[{code}]\n" if code else ""
        self.seen.append(f"$ {typed}\n{self._masked(part(said))}{ended}")
        return said

    def prepared(self, name: str) -> str:
        """Return the command of a row for somebody who starts it and looks at what it does."""
        typed = documented.command(name)
        documented.note(typed)
        return filled_in(typed, self._names)

    def type(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run any command."""
        argv = ["bash", "-ec", command]
        return subprocess.run(
            argv, env=self.env, cwd=self._where, capture_output=True, text=True, timeout=_SECONDS, check=False
        )

    def _masked(self, text: str) -> str:
        for placeholder, value in self._names.items():
            text = re.sub(rf"(?<![A-Za-z0-9-]){re.escape(value)}(?![A-Za-z0-9])", placeholder, text)
        for pattern, mask in _MASKS:
            text = pattern.sub(mask, text)
        return text if not text or text.endswith("\n") else f"{text}\n"

    def compare(self, file: Path) -> None:
        """Assert that what was seen is what the file has; with RECORD in the environment write it there."""
        told = "\n".join(self.seen)
        if os.environ.get("RECORD"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(told)
        expected = file.read_text() if file.exists() else ""
        changes = difflib.unified_diff(
            expected.splitlines(), told.splitlines(), file.name, "seen", lineterm=""
        )
        assert told == expected, "\n".join(changes)


def _fresh_environment() -> dict[str, str]:
    """Return ours without what the make that runs the tests hands down: it would count for what is typed."""
    flags = os.environ.get("MAKEFLAGS", "")
    given = {word.partition("=")[0] for word in flags.split() if "=" in word}
    return {k: v for k, v in os.environ.items() if k not in given and not k.startswith(("MAKE", "MFLAGS"))}


def filled_in(command: str, names: Mapping[str, str]) -> str:
    """Return a command with these words of it replaced."""
    for placeholder, value in names.items():
        command = re.sub(
            rf"(?<![A-Za-z]){re.escape(placeholder)}(?![A-Za-z])", value.replace("\\", r"\\"), command
        )
    return command


def first_lines(number: int) -> Callable[[str], str]:
    """Pick the first lines of what a command prints."""
    return lambda text: "".join(text.splitlines(keepends=True)[:number])


def programs(tools: Toolbox, folder: Path) -> Path:
    """Return a folder in which the programs have the names that the documents call them by."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in {"crossplane": "crossplane-cli", "kubectl": "kubectl", "helm": "helm"}.items():
        with contextlib.suppress(FileExistsError):
            (folder / name).symlink_to(tools[program])
    return folder

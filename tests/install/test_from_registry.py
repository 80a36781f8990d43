"""`make install-from-registry` as a program of its own: what it shows, and when."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from package.images.sources import ROOT
from support import documented, from_registry, registry

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.timeout(900)
def test_shows_commands_and_progress_while_they_happen(tmp_path: Path) -> None:
    """Each command stands there as it is typed, and what comes and goes is told at that moment."""
    environment = {**os.environ, "CONTROLPLANE_STATE": str(tmp_path)}
    command = shlex.split(documented.command("install-from-registry"))
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        lines = [(time.monotonic(), line) for line in process.stdout]
    output = "".join(line for _, line in lines)
    assert process.returncode == 0, output
    documented.note(documented.command("install-from-registry"))
    for typed in (*registry.documented("Install"), "kubectl delete inferencecluster local"):
        shown = typed.replace(registry.DOCUMENTED, registry.REGISTRY)
        assert re.search(rf"^\$ {re.escape(shown)}", output, re.MULTILINE), shown
    for row in from_registry.table():
        for what in ("ready", "gone"):
            assert re.search(rf"{row['kind']} {row['name']} +{what}", output), (row["name"], what)
    gone = [at for at, line in lines if re.search(r"s  \w+ \S+ +gone", line)]
    assert gone[-1] - gone[0] > 1, "they were told all at once"
    assert "FAIL" not in output
    assert list(tmp_path.iterdir()) == []

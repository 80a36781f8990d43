"""The transcript in policies/README.md is what a plane with the bundle really answers."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

from policies.kinds import KINDS
from support import commands, documented
from support.shell import Shell

if TYPE_CHECKING:
    from pathlib import Path

    from controlplane.plane import Plane

# Answers that differ from run to run; there are none in these commands but a time that kubectl may print.
_MASKS = (
    (re.compile(r"\b\d+(\.\d+)?m?s\b"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uid>"),
)


def test_transcript(platform: Plane, tmp_path: Path) -> None:
    """Every command of the transcript, in order, prints what stands below it; then the glass is broken."""
    _make_tern(platform)
    shown = commands.shown("policies/README.md")
    assert len(shown) >= 4
    assert [(command, _masked(_run(platform, command))) for command, _ in shown] == [
        (command, _masked(output)) for command, output in shown
    ]

    _make_tern(platform)
    Shell(platform.tools, tmp_path, platform.kubeconfig)("break-the-glass")
    deleted = platform.kubectl("delete", "inferencecluster", "tern", "--cascade=background")
    assert deleted == _masked(shown[-1][1])


def _make_tern(plane: Plane) -> None:
    cluster = KINDS["InferenceCluster"]
    head = {"apiVersion": cluster.api_version(), "kind": cluster.kind}
    plane.api.apply({**head, "metadata": {"name": "tern"}, "spec": {}})


def _run(plane: Plane, command: str) -> str:
    program, *arguments = shlex.split(command)
    argv = [plane.tools[program], f"--kubeconfig={plane.kubeconfig}", *arguments]
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=240
    )
    documented.note(command)
    return done.stdout


def _masked(text: str) -> str:
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text

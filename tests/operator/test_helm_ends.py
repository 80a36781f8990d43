"""A run of helm that is cut short leaves nothing: no process, and nothing for a loop that is closed."""

import subprocess
import sys
from pathlib import Path

# In a process of its own, since what comes too late is printed by the interpreter when it ends.
CANCELLED_AT_ONCE = """
import asyncio, sys
from datetime import timedelta
from llm_operator.charts import Target
from llm_operator.helm import Helm, Slots

async def main():
    helm = Helm(sys.argv[1], None, Slots(20))
    target = Target("models", "sable")
    runs = [asyncio.create_task(helm.uninstall(target, timedelta(minutes=1))) for _ in range(20)]
    await asyncio.sleep(3)
    for run in runs:
        run.cancel()
    await asyncio.gather(*runs, return_exceptions=True)
    print(sum(run.cancelled() for run in runs))

if sys.version_info < (3, 12):
    asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
asyncio.run(main())
"""


def test_runs_that_are_cancelled_end_before_the_loop_does(tmp_path: Path) -> None:
    """Twenty helms, each with a child that holds its pipes, are cancelled in the loop's last moment."""
    mark = f"61.{tmp_path.stat().st_ino}"
    binary = tmp_path / "helm"
    binary.write_text(f"#!/bin/sh\nsleep {mark} &\nwhile :; do :; done\n")
    binary.chmod(0o755)
    known = "ignore:Implicitly cleaning up:ResourceWarning"  # The home, which lives as long as the process.
    command = [sys.executable, "-W", "always", "-W", known, "-c", CANCELLED_AT_ONCE, str(binary)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("20\n", "", 0)
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if mark in _read(p)]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # It ended in between.

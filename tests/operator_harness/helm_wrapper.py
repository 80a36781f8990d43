"""A wrapper around the helm binary.

Notes each run, fails where a test asks for it, passes everything else through.
"""

import stat
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """#!/bin/sh
# Notes the run, then becomes helm; a file fail-VERB makes that verb fail with its text, once-VERB once.
printf '%s\\n' "$*" >> {log}
at={folder}
if [ -e $at/once-"$1" ]; then cat $at/once-"$1" >&2; rm $at/once-"$1"; exit 1; fi
if [ -e $at/fail-"$1" ]; then cat $at/fail-"$1" >&2; exit 1; fi
if [ -e $at/hang-"$1" ]; then exec sleep 600; fi
exec {helm} "$@"
"""


@dataclass(frozen=True)
class HelmWrapper:
    """The wrapper's file, and where it keeps what tests ask."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, helm: str) -> "HelmWrapper":
        """Write the wrapper."""
        wrapper = cls(folder)
        text = _SCRIPT.format(log=wrapper.log, folder=folder, helm=helm)
        wrapper.path.write_text(text)
        wrapper.path.chmod(wrapper.path.stat().st_mode | stat.S_IXUSR)
        return wrapper

    @property
    def path(self) -> Path:
        """What the controller is given as helm."""
        return self.folder / "helm"

    @property
    def log(self) -> Path:
        """One line per run."""
        return self.folder / "helm.log"

    def runs(self, verb: str) -> list[str]:
        """Return the command lines of the runs of a verb."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.split()[0] == verb]

    def fail(self, verb: str, message: str, *, once: bool = False) -> None:
        """Let a verb fail with this message: from now on, or once."""
        kind = "once" if once else "fail"
        (self.folder / f"{kind}-{verb}").write_text(f"Error: {message}\n")

    def hang(self, verb: str) -> None:
        """Let a verb hang from now on."""
        (self.folder / f"hang-{verb}").touch()

    def heal(self, verb: str) -> None:
        """Let a verb work again."""
        for kind in ("fail", "once", "hang"):
            (self.folder / f"{kind}-{verb}").unlink(missing_ok=True)

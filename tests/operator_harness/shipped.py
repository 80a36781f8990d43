"""The Python of the controller's image: the packages of its lock, and none that only developers have.

Some packages load another one merely because it is there, such as a formatter of tracebacks for terminals.
"""

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
LOCK = _ROOT / "package" / "operator-requirements.lock"
PATHS = os.pathsep.join(str(_ROOT / part) for part in ("operator", "", "tests"))


def python(folder: Path) -> str:
    """Make a virtual environment in a folder and return its interpreter."""
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    interpreter = str(folder / "bin" / "python")
    sync = [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", interpreter, str(LOCK)]
    subprocess.run(sync, check=True)
    return interpreter

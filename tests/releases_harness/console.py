"""The fixtures of the web console: `python -m releases_harness.console` writes those that are not there yet.

One that is there is never written again: what a console was built against stays true.
"""

import json
import re
from pathlib import Path

from operator_harness.tables import Row
from releases_harness.tables import rows, shown

FOLDER = Path(__file__).parents[1] / "releases" / "console"


def path_of(row: Row) -> Path:
    """Return where a row's fixture lies."""
    return FOLDER / f"{re.sub('[^a-z0-9]+', '-', str(row['id']).lower())}.json"


def main() -> None:
    """Write new fixtures."""
    FOLDER.mkdir(exist_ok=True)
    for row in rows("rows"):
        path = path_of(row)
        if not path.exists():
            path.write_text(json.dumps(shown(row["given"]), indent=2) + "\n")


if __name__ == "__main__":
    main()

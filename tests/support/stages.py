"""The order in which folders of tests run, and the shared planes that each needs.

Workers take tests in this order, so that only the planes of one or two stages run at a time; a plane ends
with the last test of its stages.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Stage(NamedTuple):
    """The tests below `path`, and the names of the shared planes that they use.

    `among_next`: they take turns or mostly wait, so they are spread evenly over the next stage. One after the
    other they would occupy every worker, and none of them would do anything.
    """

    path: str
    planes: tuple[str, ...] = ()
    among_next: bool = False


STAGES = (
    Stage("tests/function"),
    Stage("tests/render"),
    Stage("tests/images"),
    Stage("tests/e2e/test_restarts.py", ("restarts",)),
    Stage("tests/e2e/test_policed.py", ("policed",)),
    Stage("tests/e2e/test_documented.py", ("policed",)),
    Stage("tests/e2e/test_peers_definition.py", ("peers",)),
    Stage("tests/e2e/test_swap.py", ("swap",)),
    Stage("tests/e2e/test_doctor.py", ("zoo",), among_next=True),
    Stage("tests/project/test_demo_run.py", among_next=True),
    Stage("tests/project/test_make.py", among_next=True),
    Stage("tests/e2e", ("open",)),
    Stage("tests/install", ("install",), among_next=True),
    Stage("tests/policies", ("policies-table", "policies-platform")),
    Stage("tests/operator", ("operator", "operator-pods")),
    Stage("tests/releases", ("operator", "operator-pods")),
    Stage("tests", ("whole",)),
)


def of(nodeid: str) -> int:
    """Return the number of the stage that a test belongs to: the first whose path it lies under."""
    return next(n for n, stage in enumerate(STAGES) if nodeid.startswith(stage.path))


def arranged(nodeids: Sequence[str]) -> list[int]:
    """Return the order in which tests run, by their places in the list; within a stage it stays as it is."""
    total, before = Counter(map(of, nodeids)), Counter[int]()
    keys = []
    for nodeid in nodeids:
        stage = of(nodeid)
        home = next(n for n in range(stage, len(STAGES)) if not STAGES[n].among_next)
        keys.append((home, before[stage] / total[stage]))
        before[stage] += 1
    return sorted(range(len(nodeids)), key=keys.__getitem__)


class Countdown:
    """How many tests are still to come for each plane."""

    def __init__(self, nodeids: list[str]) -> None:
        """Count the tests of one session."""
        self._left: dict[str, set[str]] = {}
        self._again: set[str] = set()
        for nodeid in nodeids:
            for plane in STAGES[of(nodeid)].planes:
                self._left.setdefault(plane, set()).add(nodeid)

    def again(self, nodeid: str) -> None:
        """Note that a test will be repeated: this time its end does not count."""
        self._again.add(nodeid)

    def done(self, nodeid: str) -> list[str]:
        """Note that a test has ended and return the planes that nobody needs any more."""
        if nodeid in self._again:
            self._again.discard(nodeid)
            return []
        spent = []
        for plane in STAGES[of(nodeid)].planes:
            left = self._left.get(plane, set())
            if nodeid in left:
                left.discard(nodeid)
                spent += [] if left else [plane]
        return spent

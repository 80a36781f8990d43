"""What modelctl draws, as tables; and how it draws it."""

import io
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelctl import views
from modelctl.screen import Screen, printable

TABLE: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "tables" / "progress.yaml").read_text())
ROWS: list[dict[str, Any]] = [
    {
        "namespace": "tide",
        "release": "sable",
        "backend": "llmsvc",
        "chart": "textgen-0.1.0",
        "phase": "ready",
    },
    {
        "namespace": "ebb",
        "release": "brook",
        "backend": "helm",
        "chart": "textgen-0.2.0",
        "phase": "uninstalling",
        "revision": 3,
        "replicas": 0,
        "drift": "uninstall in progress: 2 pods",
        "holdReason": "uninstalling",
    },
]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["id"])
def test_progress(row: dict[str, Any]) -> None:
    """Stage, pods and deadline of a release that uninstalls."""
    now = datetime.fromisoformat(row["now"]) if "now" in row else None
    assert views.progress(row["release"], now) == row["lines"]


def test_listing() -> None:
    """Rows are ordered, a missing revision is a dash and never 0, and what is wrong stands at the end."""
    detail = "uninstall in progress: 2 pods; autoscaling holds: uninstalling"
    assert views.listing(ROWS) == [
        "NAMESPACE   RELEASE   BACKEND   CHART           PHASE          REVISION   REPLICAS   DETAIL",
        "ebb         brook     helm      textgen-0.2.0   uninstalling   3          0          " + detail,
        "tide        sable     llmsvc    textgen-0.1.0   ready          -          -",
    ]


def test_status() -> None:
    """One release in full, and what its uninstall waits for."""
    assert views.status(ROWS[1]) == [
        "Release:      ebb/brook",
        "Backend:      helm",
        "Chart:        textgen-0.2.0",
        "Phase:        uninstalling",
        "Revision:     3",
        "Replicas:     0",
        "Drift:        uninstall in progress: 2 pods",
        "Autoscaling:  holds: uninstalling",
        "  uninstall in progress: 2 pods",
    ]


def test_plain_screen_writes_each_change_once() -> None:
    """Without a terminal a line is written when it is new, and there is nothing that moves a cursor."""
    stream = io.StringIO()
    screen = Screen(stream)
    for lines in (["a", "b"], ["a", "b"], ["a", "c"]):
        screen.show(lines)
    assert stream.getvalue() == "a\nb\nc\n"


def test_live_screen_redraws(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the lines before are replaced, cut to its width."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "5")
    stream = Terminal()
    screen = Screen(stream)
    screen.show(["one", "two"])
    screen.show(["a long line"])
    screen.finish()
    screen.show(["z"])
    assert stream.getvalue() == "\r\x1b[Jone\ntwo\n\x1b[2A\r\x1b[Ja lo\n\r\x1b[Jz\n"


def test_a_dumb_terminal_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cursor cannot be moved nothing tries to."""
    monkeypatch.setenv("TERM", "dumb")
    assert not Screen(Terminal()).live


def test_names_cannot_draw() -> None:
    """A message from the cluster has no escape sequence left."""
    assert printable("pod \x1b[2J\r\nok\u202e") == "pod ?[2J??ok?"

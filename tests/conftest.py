"""What every test session has: shared control planes, their order, and no silent skip."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import settings

from controlplane.plane import Plane
from controlplane.toolbox import Toolbox
from support import documented, planes, recipes, stages

SOCKET = pytest.StashKey[Path]()
ALLOWED = Path(__file__).parent / "allowed-skips.txt"

# A machine that is busy makes an example slow, not wrong.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

SharedPlane = Callable[[str], Plane]


def pytest_configure(config: pytest.Config) -> None:
    """Own the session's planes in its first process; hand their socket to the workers."""
    # A shell starts what it runs in the background with SIGINT ignored, and programs under test inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    workerinput = getattr(config, "workerinput", None)
    if workerinput is not None:
        config.stash[SOCKET] = Path(workerinput["planes"])
        return
    config.stash[SOCKET] = Path(tempfile.mkdtemp(prefix="planes-")) / "socket"
    config.pluginmanager.register(Session(config), "planes")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the stages one after the other; within a stage the order stays as it is, random."""
    items[:] = [items[place] for place in stages.arranged([item.nodeid for item in items])]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """Count the documents' commands of each test by itself, its fixtures' included."""
    assert item
    documented.begin()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test that passes without having run a command that tests/project/commands.yaml says it runs."""
    yield
    assert (left_out := documented.left_out(item.nodeid)) == [], left_out


class Session:
    """The part of the session's first process: it owns the planes and judges the skips."""

    def __init__(self, config: pytest.Config) -> None:
        """Serve the planes."""
        self.config = config
        self.broker = planes.Broker(config.stash[SOCKET], recipes.RECIPES)
        self.countdown = stages.Countdown([])
        self.left_out: list[str] = []

    def pytest_report_header(self) -> str:
        """Name the helm that the tests run."""
        helm = Toolbox.built("helm")
        if helm is None:
            return "helm: not built yet"
        done = subprocess.run([helm, "version", "--short"], capture_output=True, text=True, check=False)
        return f"helm: {helm} {done.stdout.strip()}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        """Tell a new worker where the planes are asked for."""
        node.workerinput["planes"] = str(self.broker.socket)  # type: ignore[attr-defined]  # xdist is untyped

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests of each plane where this process runs them itself."""
        self.countdown = stages.Countdown([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count the tests of each plane; every worker collects the same."""
        self.countdown = stages.Countdown(ids)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Stop the planes that no test needs any more."""
        for plane in self.countdown.done(nodeid):
            self.broker.stop(plane)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember skips with their reason, and failures for the sake of the logs."""
        again = report.outcome == "rerun"  # type: ignore[comparison-overlap]  # pytest-rerunfailures' own
        self.broker.keep_logs |= report.failed or again
        if again:
            self.countdown.again(report.nodeid)
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.left_out.append(f"{report.nodeid}: {reason}")

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Remember what a -k or -m left out; a run by hand may do that, a run of everything may not."""
        self.left_out += [f"{item.nodeid}: deselected" for item in items]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a run of everything that left out a test without a reason that is allowed."""
        if self.config.args != self.config.getini("testpaths") or exitstatus != pytest.ExitCode.OK:
            return
        allowed = [line for line in ALLOWED.read_text().splitlines() if line and not line.startswith("#")]
        silent = [s for s in self.left_out if not any(reason in s for reason in allowed)]
        if silent:
            print("\nleft out without a reason in tests/allowed-skips.txt:", *silent, sep="\n  ")  # noqa: T201 -- for whoever reads the run
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        """Stop the planes that still run; their logs stay when a test failed."""
        self.broker.close()


@pytest.fixture(scope="session")
def shared_plane(request: pytest.FixtureRequest) -> SharedPlane:
    """Return a function that gives the session's plane of a name (see `support.recipes`)."""
    socket = request.config.stash[SOCKET]
    return lambda name: planes.ask(socket, name)

"""modelctl's command line: errors are one line and end with the code that the table says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from modelctl import main
from modelctl.commands import COMMANDS, GROUPS
from modelctl.exits import MEANINGS, Exit

ROOT = Path(__file__).parents[2]
LIST = ("releases", "list", "--token-file")

# id, arguments, exit code, what the line says
WRONG = [
    ("nothing", [], Exit.USAGE, "the following arguments are required: COMMAND"),
    ("unknown", ["relases"], Exit.USAGE, "invalid choice: 'relases'"),
    ("half", ["releases"], Exit.USAGE, "the following arguments are required: COMMAND"),
    ("no name", ["releases", "delete"], Exit.USAGE, "the following arguments are required: name"),
    ("timeout", ["releases", "delete", "a", "--timeout", "5"], Exit.USAGE, "'5' is not a duration"),
    ("negative", ["releases", "delete", "a", "--timeout=-5m"], Exit.USAGE, "'-5m' is negative"),
    ("no server", ["releases", "list"], Exit.USAGE, "pass --server or set MODELCTL_SERVER"),
    ("no address", ["releases", "list", "--server", "tide"], Exit.USAGE, "'tide' is no address"),
    ("plain", ["releases", "list", "--server", "http://tide"], Exit.USAGE, "plain HTTP to this machine only"),
    ("password", ["releases", "list", "--server", "https://me:it@tide"], Exit.USAGE, "is no address"),
    ("authority", ["releases", "list", "--server", "https://x", "--ca", "/none"], Exit.USAGE, "--ca /none"),
    ("two namespaces", ["releases", "status", "a/b", "-n", "c"], Exit.USAGE, "contradict each other"),
    ("a path", ["releases", "status", "../a"], Exit.USAGE, "'..' is no name"),
    ("an empty name", ["releases", "status", "a/"], Exit.USAGE, "'' is no name"),
]


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MODELCTL_SERVER", "MODELCTL_CA", "MODELCTL_TOKEN_FILE", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_synopses() -> None:
    """What the README says may be given is taken, and it says so of every command."""
    block = (ROOT / "operator" / "modelctl" / "README.md").read_text().split("```\n")[1]
    parsed = [main.parser("modelctl").parse_args(_given(line)) for line in block.splitlines()]
    assert {options.command.words for options in parsed} == {command.words for command in COMMANDS}


def _given(synopsis: str) -> list[str]:
    """Return a command line with all that may be given, of alternatives the first."""
    words = re.sub(r"\[NAMESPACE/\]|[\[\]]", "", synopsis).split()[1:]
    return [word.partition("|")[0] for word in words]


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row[0])
def test_wrong(row: tuple[str, list[str], Exit, str], capfd: pytest.CaptureFixture[str]) -> None:
    """A command line that cannot be carried out is one line on stderr, nothing on stdout."""
    assert main.run(row[1]) == row[2]
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert row[3] in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must hold one token"),
        ("a b", "must hold one token"),
        ("é", "must hold one token"),
        (None, "No such"),
    ],
    ids=["empty", "two", "not ASCII", "missing"],
)
def test_token_file(text: str | None, says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is no token is never sent, and never printed."""
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text)
    assert main.run([*LIST, str(file), "--server", "http://127.0.0.1:9"]) == Exit.USAGE
    assert says in capfd.readouterr().err


def test_nobody_answers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A server that is not there has a code of its own; the token is not in the message."""
    (tmp_path / "token").write_text("very-secret\n")
    assert main.run([*LIST, str(tmp_path / "token"), "--server", "http://127.0.0.1:9"]) == Exit.UNREACHABLE
    err = capfd.readouterr().err
    assert err.startswith("error: http://127.0.0.1:9 cannot be reached: ")
    assert "very-secret" not in err


def test_no_kubeconfig(capfd: pytest.CaptureFixture[str]) -> None:
    """Without any token it is said where one may come from."""
    assert main.run(["releases", "list", "--server", "http://127.0.0.1:9"]) == Exit.USAGE
    assert "pass --kubeconfig or set KUBECONFIG" in capfd.readouterr().err


def test_kubeconfig_without_token(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A user who logs in with a certificate has no token to send."""
    file = tmp_path / "kubeconfig"
    file.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {}}],"
        " contexts: [{name: c, context: {cluster: k, user: u}}],"
        " clusters: [{name: k, cluster: {server: 'http://127.0.0.1:9'}}]}"
    )
    argv = ["releases", "list", "--server", "http://127.0.0.1:9", "--kubeconfig", str(file)]
    assert main.run(argv) == Exit.DENIED
    assert "has no token: pass --token-file or --service-account" in capfd.readouterr().err


def test_every_group_has_a_line_of_help() -> None:
    """A command of two words is found in the help of its first."""
    assert {word for command in COMMANDS for word in command.words[:-1]} == set(GROUPS)
    assert len({command.words for command in COMMANDS}) == len(COMMANDS)


def test_every_exit_code_is_explained() -> None:
    """Each code stands in the help and in the documentation, with the same words."""
    assert set(MEANINGS) == set(Exit)
    text = (ROOT / "operator" / "modelctl" / "README.md").read_text()
    rows = {int(code): said for code, said in re.findall(r"^\| (\d+) \| (.*) \|$", text, re.MULTILINE)}
    assert rows == {int(code): said for code, said in MEANINGS.items()}


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    """`modelctl --help | head -0` ends quietly."""
    command = f"{sys.executable} -m modelctl --help | true"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, cwd=ROOT / "operator", check=False
    )
    assert "Traceback" not in done.stderr

"""Logs are one JSON object a line, whoever writes them, and tell no secret."""

import json
import subprocess
import sys

SECRET = "hunter22-do-not-tell"  # noqa: S105 - made up
_PROGRAM = """
import logging
import structlog
from llm_operator import logs

logs.configure("INFO")
logs.adopt("uvicorn")


def fail(token):
    raise ValueError("broken")


try:
    fail("hunter22" + "-do-not-tell")
except ValueError:
    structlog.get_logger().exception("unhandled")
    logging.getLogger("uvicorn.error").exception("in the application")
logging.getLogger("uvicorn.error").warning("invalid request")
logging.getLogger("uvicorn.error").info("not worth a line")
"""


def test_lines_and_secrets() -> None:
    """A library's lines look like ours, an exception is told without the values of its frames."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    records = [json.loads(line) for line in done.stderr.splitlines()]
    events = [record["event"] for record in records]
    assert events == ["unhandled", "unhandled: in the application", "invalid request"]
    assert records[0]["exception"][0]["frames"][-1]["name"] == "fail"
    assert SECRET not in done.stderr

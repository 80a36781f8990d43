"""Starts a Prometheus that scrapes given targets every second, and answers when it does."""

import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from controlplane.kube import wait_until
from controlplane.toolbox import Toolbox

PATIENCE = 60.0
_LISTENING = re.compile(r'msg="Listening on".* address=(127\.0\.0\.1:\d+)')


@dataclass
class Server:
    """A running Prometheus."""

    url: str
    process: subprocess.Popen[bytes]

    def value(self, query: str) -> str | None:
        """Return the one number that a query evaluates to, None without a series."""
        result = self.result(query)
        return str(result[0]["value"][1]) if result else None

    def result(self, query: str) -> list[dict[str, Any]]:
        """Return the series that a query evaluates to."""
        address = f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - our own server
            data: dict[str, Any] = json.load(answer)["data"]
        return list(data["result"])

    def wait_for(self, query: str, value: str | None) -> None:
        """Wait until a query evaluates to a number, or to no series at all."""

        def arrived() -> bool:
            try:
                return self.value(query) == value
            except OSError:
                return False

        wait_until(arrived, f"{query} is {value}", PATIENCE, 0.1)


@contextmanager
def start(folder: Path, *targets: str) -> Iterator[Server]:
    """Run Prometheus in a folder of its own until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "prometheus.yml"
    scrape = {"job_name": "test", "static_configs": [{"targets": list(targets)}]}
    seconds = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config.write_text(yaml.safe_dump({"global": seconds, "scrape_configs": [scrape]}))
    log = folder / "log"
    command = [
        Toolbox.ready(also=("prometheus",))["prometheus"],
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
    ]
    command += ["--web.listen-address=127.0.0.1:0", "--storage.tsdb.no-lockfile"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
    try:
        wait_until(lambda: _listening(log, process), "Prometheus listens", PATIENCE, 0.05)
        server = Server(f"http://{_address(log)}", process)
        wait_until(lambda: _ready(server), "Prometheus is ready", PATIENCE, 0.05)
        yield server
    finally:
        process.kill()
        process.wait()


def _listening(log: Path, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, f"Prometheus ended: {log.read_text()[-2000:]}"
    return _LISTENING.search(log.read_text()) is not None


def _address(log: Path) -> str:
    found = _LISTENING.search(log.read_text())
    assert found is not None
    return found[1]


def _ready(server: Server) -> bool:
    try:
        with urllib.request.urlopen(f"{server.url}/-/ready", timeout=2) as answer:  # noqa: S310 - our own server
            return bool(answer.status == 200)
    except OSError:
        return False

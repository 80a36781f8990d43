"""schemathesis reads the served description and sends what it allows, and what it does not: never a 5xx."""

import re
import subprocess
import sys
from pathlib import Path

from operator_harness.world import World
from release_api.app import description
from releases_harness.cases import Run

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
EXAMPLES = 25
FEWEST = 200
"""Calls; fewer would mean that it was not let in."""
_CONFIG = """
[parameters]
"path.namespace" = "{namespace}"
"path.name" = "sable"
"""


def test_schemathesis(release_world: World, tmp_path: Path) -> None:
    """Every operation, with a caller who may do everything in its namespace; helm refuses what it gets."""
    run = Run(release_world, {"id": "contract", "pods": [{"name": "sable-0"}]}, tmp_path)
    config = tmp_path / "schemathesis.toml"
    config.write_text(_CONFIG.format(namespace=run.namespace))
    try:
        run.set_up()
        assert run.client.call("GET", "/openapi.json").body == description()
        for verb in ("install", "upgrade", "rollback"):
            run.helm.fail(verb, "made to fail")
        command = [str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(config), "run"]
        command += [f"{run.server.url}/openapi.json", "--tls-verify", str(run.server.ca)]
        command += ["--header", f"Authorization: Bearer {run.token}", "--checks", CHECKS, "--no-color"]
        command += ["--max-examples", str(EXAMPLES), "--seed", "20311", "--continue-on-failure"]
        command += ["--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        answered = [r["status"] for r in run.server.records() if r["event"] == "request"]
        found = re.search(r"(\d+) generated", done.stdout)
        assert found is not None, done.stdout[-2000:]
        assert int(found.group(1)) >= FEWEST
        assert [status for status in answered if status >= 500] == []
        sys.stdout.write(f"{found.group(1)} cases, {len(answered)} changes asked for: no 5xx\n")
        assert {200, 409, 422} <= set(answered), set(answered)
        assert run.server.complaints() == []
    finally:
        run.end()

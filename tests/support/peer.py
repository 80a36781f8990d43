"""The peer's function: what it answered, as recorded, or what a checkout of it answers now.

    PEER=/path/to/modelplane python -m support.peer      record its answers anew (make record-peer)

The checkout's function runs in an environment of its own, since it is called `function` as ours is and needs
packages that we do not.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf import json_format

from function import structs
from function.observed import Resource
from support.peer_states import CLASS, CLOUDS, states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "function" / "peer"
COMMIT = "90ba117"
DRIVER = Path(__file__).parent / "peer_driver.py"
PACKAGES = ("crossplane-function-sdk-python==0.15.1", "pydantic>=2.11")


@contextmanager
def asking(checkout: Path) -> Iterator[Callable[[fnv1.RunFunctionRequest], fnv1.RunFunctionResponse | str]]:
    """Run the checkout's function; yields what asks it: an answer, or the name of what it raised."""
    uv = [str(Path(sys.executable).with_name("uv")), "run", "--quiet", "--no-project"]
    packages = [argument for package in PACKAGES for argument in ("--with", package)]
    folders = (checkout / "functions" / "compose-inference-cluster", checkout / "schemas" / "python")
    with subprocess.Popen(
        [*uv, *packages, "python", str(DRIVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
    ) as process:
        yield lambda req: _ask(process, req)
        assert process.stdin is not None
        process.stdin.close()  # the driver ends with its input


def _ask(process: subprocess.Popen[str], req: fnv1.RunFunctionRequest) -> fnv1.RunFunctionResponse | str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{base64.b64encode(req.SerializeToString()).decode()}\n")
    process.stdin.flush()
    line = process.stdout.readline().strip()
    if not line:
        raise RuntimeError("the peer's function ended; its last words stand above")
    if line.startswith("raised: "):
        return line.removeprefix("raised: ")
    return fnv1.RunFunctionResponse.FromString(base64.b64decode(line))


def digest(req: fnv1.RunFunctionRequest) -> str:
    """Return what tells whether an answer was recorded for this very request."""
    return hashlib.sha256(req.SerializeToString(deterministic=True)).hexdigest()[:12]


def answer(req: fnv1.RunFunctionRequest) -> fnv1.RunFunctionResponse:
    """Answer for one of the InferenceClusters of `support.peer_states`, live on a control plane.

    Asks the checkout that PEER names; without one the recorded answer stands in, found by how far things are.
    """
    source = structs.text(req.observed.composite.resource, "spec", "cluster", "source")
    if checkout := os.environ.get("PEER"):
        with asking(Path(checkout)) as ask:
            found = ask(req)
        if isinstance(found, str):
            raise RuntimeError(f"the peer's function raised {found}")
        return found
    rsp = response(recorded(source)[moment(req, source)])
    rsp.meta.tag = req.meta.tag
    return rsp


def moment(req: fnv1.RunFunctionRequest, source: str) -> str:
    """Return the state of `support.peer_states` that a live request is in."""
    observed = {key: Resource(found.resource).ready for key, found in req.observed.resources.items()}
    key = f"class-{CLASS}"
    if key not in req.required_resources or not req.required_resources[key].items:
        return "classes-unknown"
    if "serving-stack" in observed:
        return "ready" if observed["serving-stack"] else "installing"
    cluster = observed.get(CLOUDS[source].key)
    if cluster is None:
        return "new"
    return "cluster-ready" if cluster else "cluster-not-ready"


def recorded(source: str) -> dict[str, Any]:
    """Return what was recorded of one source: by state, the request's digest and the answer."""
    found: dict[str, Any] = json.loads((RECORDED / f"{source.lower()}.json").read_text("utf-8"))
    return found


def response(entry: dict[str, Any]) -> fnv1.RunFunctionResponse:
    """Return a recorded answer as the message that it was."""
    return json_format.ParseDict(entry["response"], fnv1.RunFunctionResponse())


def record(checkout: Path) -> None:
    """Ask the checkout's function about every state and write its answers down."""
    RECORDED.mkdir(exist_ok=True)
    with asking(checkout) as ask:
        for source in CLOUDS:
            lines = [
                f' "{name}": {_entry(ask(s.request()), s.request())}' for name, s in states(source).items()
            ]
            head = f' "commit": "{COMMIT}"'
            text = "{\n" + ",\n".join([head, *lines]) + "\n}\n"
            (RECORDED / f"{source.lower()}.json").write_text(text, "utf-8")


def _entry(answer: fnv1.RunFunctionResponse | str, req: fnv1.RunFunctionRequest) -> str:
    if isinstance(answer, str):
        return json.dumps({"request": digest(req), "raised": answer})
    return json.dumps({"request": digest(req), "response": json_format.MessageToDict(answer)}, sort_keys=True)


def _is_at(checkout: str, commit: str) -> bool:
    """Whether a checkout is at a commit; one without its history, an archive, is taken at its word."""
    command = ["git", "-C", checkout, "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode != 0 or done.stdout.startswith(commit)


def main() -> int:
    """Record; return the exit code."""
    checkout = os.environ.get("PEER", "")
    if not (Path(checkout) / "functions").is_dir() or not _is_at(checkout, COMMIT):
        print(f"error: set PEER to a checkout of modelplaneai/modelplane at {COMMIT}", file=sys.stderr)  # noqa: T201 -- a command
        return 1
    record(Path(checkout))
    return 0


if __name__ == "__main__":
    sys.exit(main())

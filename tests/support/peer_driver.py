"""Runs the peer's function for one request a line; `support.peer` starts it in an environment of its own.

Both sides write base64 of the serialized messages, one a line. A request that makes the function raise is
answered with `raised: ` and what it raised.
"""

import asyncio
import base64
import sys

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import fn  # the peer's: its folder comes first in PYTHONPATH


def answer(runner: fn.FunctionRunner, line: str) -> str:
    """Answer one line."""
    req = fnv1.RunFunctionRequest.FromString(base64.b64decode(line))
    try:
        rsp = asyncio.run(runner.RunFunction(req, None))
    except Exception as error:  # noqa: BLE001 -- that it raises is one of the facts to record
        return f"raised: {type(error).__name__}"
    return base64.b64encode(rsp.SerializeToString()).decode()


def main() -> None:
    """Answer until the input ends."""
    runner = fn.FunctionRunner()
    answers = sys.stdout
    sys.stdout = sys.stderr  # where the function logs to
    for line in sys.stdin:
        answers.write(f"{answer(runner, line)}\n")
        answers.flush()


if __name__ == "__main__":
    main()

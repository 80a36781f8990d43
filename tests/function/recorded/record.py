"""Records what Modelplane's compose-usages answers to the requests in compose-usages.yaml, in place.

Run with the Python of an environment that has the function SDK and pydantic:

    PYTHONPATH=$PEER/functions/compose-usages:$PEER/schemas/python python record.py
"""

import asyncio
from pathlib import Path

import yaml
from crossplane.function import resource
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.fn import FunctionRunner

FILE = Path(__file__).parent / "compose-usages.yaml"


def record() -> None:
    """Fill in `answer` of every case."""
    text = FILE.read_text("utf-8")
    head = text[: text.index("\n- ") + 1]
    cases = yaml.safe_load(text)
    for case in cases:
        req = fnv1.RunFunctionRequest()
        resource.update(req.observed.composite, case["composite"])
        for key, manifest in case["desired"].items():
            resource.update(req.desired.resources[key], manifest)
        rsp = asyncio.run(FunctionRunner().RunFunction(req, None))
        case["answer"] = {
            "resources": {k: resource.struct_to_dict(r.resource) for k, r in _sorted(rsp)},
            "ready": sorted(k for k, r in rsp.desired.resources.items() if r.ready == fnv1.READY_TRUE),
            "warnings": sum(r.severity == fnv1.SEVERITY_WARNING for r in rsp.results),
        }
    FILE.write_text(
        head + yaml.safe_dump([_in_order(case) for case in cases], width=110, sort_keys=False), "utf-8"
    )


def _sorted(rsp: fnv1.RunFunctionResponse) -> list[tuple[str, fnv1.Resource]]:
    return sorted(rsp.desired.resources.items(), key=lambda item: item[0])


def _in_order(case: dict[str, object]) -> dict[str, object]:
    return {field: case[field] for field in ("name", "composite", "desired", "answer")}


if __name__ == "__main__":
    record()

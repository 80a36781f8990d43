"""Measures what the bundle adds to a DELETE: `python tests/policies/bench_latency.py [pairs]`.

One API server with the bundle, two kinds that differ in nothing but the bundle covering one of them; objects
of the one and of the other are deleted in turn, in foreground, without a garbage collector to share the
machine with. Printed as JSON: medians in ms, and the ratio of the medians.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from controlplane.options import Options
from controlplane.plane import Plane
from policies import planes
from policies.bundle import FLAT, documents, install
from policies.kinds import KINDS, Kind, Object
from policies.play import serve

if TYPE_CHECKING:
    from policies.wire import Wire

PAIRS = 1000
WARM_UP = 100
GOAL = 1.05
COVERED = KINDS["InferenceCluster"]
BARE = COVERED.moved("bare.example.org")
_FOREGROUND = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}


def measure(wire: Wire, pairs: int) -> Object:
    """Return the medians of `pairs` deletes with and without the bundle, and their ratio."""
    seconds: dict[Kind, list[float]] = {COVERED: [], BARE: []}
    for number in range(WARM_UP + pairs):
        # Each goes first as often as the other.
        for kind in (COVERED, BARE) if number % 2 else (BARE, COVERED):
            took = _delete(wire, kind, f"cluster-{number}")
            if number >= WARM_UP:
                seconds[kind].append(took)
    with_bundle, without = (statistics.median(seconds[kind]) * 1000 for kind in (COVERED, BARE))
    ratio = with_bundle / without
    return {
        "pairs": pairs,
        "with_ms": round(with_bundle, 3),
        "without_ms": round(without, 3),
        "ratio": round(ratio, 4),
    }


def _delete(wire: Wire, kind: Kind, name: str) -> float:
    collection = f"{kind.root()}/{kind.plural}"
    wire.must(
        "POST", collection, {"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name}}
    )
    begin = time.perf_counter()
    answer = wire.send("DELETE", f"{collection}/{name}", _FOREGROUND)
    took = time.perf_counter() - begin
    assert answer.allowed, answer.message
    return took


def prepare(wire: Wire) -> None:
    """Install the two kinds and the bundle."""
    serve(wire, [COVERED, BARE])
    install(wire, documents(FLAT.read_text()))


def main() -> None:
    """Measure on a plane of its own and print the figures beside the goal for the ratio."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    alone = replace(Options.kubernetes(), controllers=("*", "-nodeipam", "-garbage-collector-controller"))
    with Plane.up(options=alone) as plane:
        wire = planes.wire_to(plane)
        prepare(wire)
        figures = measure(wire, pairs)
    print(json.dumps({"bench": "policies_delete_latency", "goal": GOAL, **figures}))  # noqa: T201 -- the result of a command


if __name__ == "__main__":
    main()

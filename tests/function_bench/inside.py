"""What the function itself costs, without serving and without parsing the request."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from function import wire
from function.fn import FunctionRunner
from function_bench.load import median

if TYPE_CHECKING:
    from function_bench.states import State

_CALLS, _ROUNDS = 50, 7


def growth(small: State, large: State) -> float:
    """Return the cost of a changed large state in relation to that of a small one."""
    ratios = [_cost(large, n) / _cost(small, n) for n in range(_ROUNDS)]
    return median(ratios)


def _cost(state: State, number: int) -> float:
    start = 5 * 10**7 + number * _CALLS + state.size * 10**6
    runner = FunctionRunner()

    spent = 0.0
    for body in itertools.islice(state.changed(start), _CALLS):
        req = wire.request(body)
        began = time.thread_time()
        runner.answer(req)
        spent += time.thread_time() - began
    return spent

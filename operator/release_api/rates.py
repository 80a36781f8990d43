"""How often one user may write: a bucket of tokens each. Pure but for the clock that it is given."""

import time
from collections.abc import Callable
from dataclasses import dataclass

MOST_USERS = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Rates:
    """`rate` writes a second, `burst` at once, for each user."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with full buckets."""
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, user: str) -> float:
        """Take a token; return 0, or in how many seconds there is one."""
        now = self._clock()
        bucket = self._buckets.pop(user, None) or _Bucket(self._burst, now)
        bucket.tokens = min(bucket.tokens + (now - bucket.at) * self._rate, self._burst)
        bucket.at = now
        self._buckets[user] = bucket  # The last used is the last to be forgotten.
        if len(self._buckets) > MOST_USERS:
            del self._buckets[next(iter(self._buckets))]
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / self._rate

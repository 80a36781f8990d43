"""Durations in Go's syntax (`1h30m`, `250ms`), in and out. Pure."""

import re
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_LONGEST = 2**63 - 1
"""Go keeps a duration in a signed 64-bit number of nanoseconds (about 292 years)."""


class DurationError(ValueError):
    """The text is not a duration in Go's syntax."""


@lru_cache(maxsize=1024)  # The same few texts are read on every pass over every object.
def parse_duration(text: str) -> timedelta:
    """Read a duration as Go's time.ParseDuration does, to the microsecond (finer parts are cut off).

    Raises DurationError for anything Go refuses: an empty text, a missing or unknown unit, spaces, overflow.
    """
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if body == "0":
        return timedelta(0)
    parts = _PART.findall(body)
    if not parts or "".join(number + unit for number, unit in parts) != body:
        raise DurationError(f"{text!r} is not a duration: write it like 1h30m, 90s or 250ms")
    nanoseconds = int(sum(Fraction(_decimal(number)) * _NANOSECONDS[unit] for number, unit in parts))
    if nanoseconds > _LONGEST:
        raise DurationError(f"{text!r} is not a duration: it is longer than 292 years")
    return sign * timedelta(microseconds=nanoseconds // 1000)


def _decimal(number: str) -> str:
    whole, _, part = number.partition(".")
    return f"{whole or '0'}.{part or '0'}"


def parse_wait(text: str) -> timedelta:
    """Read a duration that something waits for: as parse_duration, but a negative one is a DurationError."""
    duration = parse_duration(text)
    if duration < timedelta(0):
        raise DurationError(f"{text!r} is negative: a wait must be 0s or longer")
    return duration


def format_duration(duration: timedelta) -> str:
    """Write a duration the short way that parse_duration reads back: `1h30m`, `5s`, `0.25s`, `0s`."""
    if duration < timedelta(0):
        return "-" + format_duration(-duration)
    seconds, micros = divmod(duration // timedelta(microseconds=1), 10**6)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    rest = f"{seconds}.{micros:06d}".rstrip("0").rstrip(".") if micros else str(seconds)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
    return text + f"{rest}s" if rest != "0" or not text else text

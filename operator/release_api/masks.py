"""Texts of a caller's values that must not show up in an answer, a log or a record. Pure."""

from collections.abc import Iterator

SHORTEST = 4
"""Characters: shorter texts are not taken out, they would tear every word apart."""


def texts(value: object) -> Iterator[str]:
    """Yield every text in values, keys not: which of them is a password nobody can tell."""
    if isinstance(value, dict):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)
    elif isinstance(value, str) and len(value.strip()) >= SHORTEST:
        yield from {value, value.strip(), *(line for line in value.splitlines() if len(line) >= SHORTEST)}

"""Reads plain input strictly: a wrong type or a missing field becomes one SpecError that names its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from function.model import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NAMES = {dict: "a block", list: "a list", str: "text", int: "a whole number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the input and the path at which it stands, such as `spec.cluster`."""

    path: str
    content: Mapping[str, Any]

    @classmethod
    def of(cls, path: str, content: object) -> Block:
        """View `content` as a block.

        Raises:
            SpecError: it is something else.

        """
        if not isinstance(content, dict):
            raise SpecError(f"{path} must be a block, not {_describe(content)}")
        return cls(path, content)

    def fail(self, field: str, problem: str) -> NoReturn:
        """Raise a SpecError about one field."""
        raise SpecError(f"{self.path}.{field} {problem}")

    def has(self, field: str) -> bool:
        """Whether the field is given and not null."""
        return self.content.get(field) is not None

    def text(self, field: str, default: str | None = None) -> str:
        """Return a non-empty text, or the default where the field is not given."""
        found = self._typed(field, str, default)
        if found == "" and default != "":
            self.fail(field, "must not be empty")
        return str(found)

    def whole(self, field: str, default: int | None = None) -> int:
        """Return a whole number that is not negative, or the default where the field is not given."""
        found = self._typed(field, int, default)
        if isinstance(found, bool) or found < 0:
            self.fail(field, f"must be a whole number of at least 0, not {_describe(found)}")
        return int(found)

    def flag(self, field: str) -> bool:
        """Return true or false; an absent field reads as false."""
        found = self._typed(field, bool, default=False)
        return bool(found)

    def block(self, field: str) -> Block:
        """Return a block; an absent one reads as empty."""
        return Block(f"{self.path}.{field}", self._typed(field, dict, {}))

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of texts; an absent one reads as empty."""
        found = self._typed(field, list, [])
        for index, entry in enumerate(found):
            if not isinstance(entry, str):
                self.fail(f"{field}[{index}]", f"must be text, not {_describe(entry)}")
        return tuple(found)

    def blocks(self, field: str) -> Iterator[Block]:
        """Yield the blocks of a list; an absent list reads as empty."""
        for index, entry in enumerate(self._typed(field, list, [])):
            yield Block.of(f"{self.path}.{field}[{index}]", entry)

    def one_of(self, field: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """Return a text that must be one of `allowed`."""
        found = self.text(field, default)
        if found not in allowed:
            self.fail(field, f"must be one of {', '.join(allowed)}, not {found!r}")
        return found

    def _typed(self, field: str, kind: type, default: object) -> Any:  # noqa: ANN401 -- checked just here
        found = self.content.get(field)
        if found is None:
            if default is None:
                self.fail(field, "is required")
            return default
        if not isinstance(found, kind):
            self.fail(field, f"must be {_NAMES[kind]}, not {_describe(found)}")
        return found


def _describe(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."  # noqa: PLR2004 -- a message stays one line

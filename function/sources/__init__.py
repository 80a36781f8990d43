"""The known cluster sources. A new one is one file, one entry in SOURCES, and one example."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.model import SpecError
from function.sources import aks, eks, existing, gke, local, nebius, vultr

if TYPE_CHECKING:
    from function.sources.base import Source

SOURCES: tuple[Source, ...] = (
    local.SOURCE,
    existing.SOURCE,
    gke.SOURCE,
    eks.SOURCE,
    aks.SOURCE,
    nebius.SOURCE,
    vultr.SOURCE,
)


def by_name(name: str) -> Source:
    """Return the source of that name.

    Raises:
        SpecError: there is none.

    """
    for source in SOURCES:
        if source.name == name:
            return source
    known = ", ".join(source.name for source in SOURCES)
    raise SpecError(f"spec.cluster.source {name!r} is unknown; use one of {known}")

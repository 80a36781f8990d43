"""What this process remembers of one LLMService beyond what is stored: hints that a restart may lose."""

from dataclasses import dataclass, field
from datetime import datetime

from llm_operator.routes import ManifestRoutes
from llm_operator.teardown.model import Attempt
from llm_operator.teardown.release import Tries


@dataclass(slots=True)
class Memory:
    """Hints about one object, by its UID."""

    uid: str
    attempt: Attempt | None = None
    tries: Tries | None = None
    refused: set[str] = field(default_factory=set)
    """UIDs of pods that we may not force delete."""
    told: set[tuple[str, str]] = field(default_factory=set)
    """Reason and key of the events written, so that a pass does not write them again."""
    routes: tuple[str, ManifestRoutes] | None = None
    """The routes of the newest revision, keyed by its Secret and resourceVersion."""
    stage: str = ""
    stage_since: datetime | None = None
    pods: int = 0
    dropped: bool = False
    """Our finalizer is off: the cache may still show it."""

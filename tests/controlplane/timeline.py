"""Records what appears, changes and goes on a plane, from watch events, while something else happens."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import urllib3

from controlplane.errors import ControlPlaneError, WaitTimeoutError
from controlplane.kube import Api, ApiError, Object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

_WATCH_SECONDS = 20
# Events come in bursts: a condition is looked at once a burst, not once an event.
_PAUSE_SECONDS = 0.1
_GONE = 410


@dataclass(frozen=True, order=True)
class Ref:
    """Which object: kind, namespace ('' for cluster-scoped) and name."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True)
class Event:
    """One watch event. `version` is the API server's resourceVersion: it orders events across kinds."""

    time: float
    type: str
    ref: Ref
    uid: str
    version: int
    deleting: bool
    finalizers: tuple[str, ...]
    object: Object


def _all_went(events: Iterable[Event]) -> bool:
    """Say whether the last event of every object, of events in the server's order, is its end."""
    return set({event.ref: event.type for event in events}.values()) <= {"DELETED"}


class Timeline:
    """Watches kinds in the background, from the moment it is entered until it is left.

    Every kind has a watch of its own, but etcd gives all of them one sequence of versions: a DELETED event
    carries the version of the deletion itself. So the order of `gone` is the server's, not that of arrival.
    """

    def __init__(
        self,
        api: Api,
        kinds: Iterable[tuple[str, str]],
        on_event: Callable[[Event], None] | None = None,
        only: Callable[[Ref], bool] = lambda _: True,
    ) -> None:
        """Watch these (apiVersion, kind) pairs and record the events of the objects that `only` admits.

        `on_event` is called for each recorded event, from several threads.
        """
        self._api = api
        self._kinds = list(kinds)
        self._on_event = on_event
        self._only = only
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._failed: list[Exception] = []
        self._events: list[Event] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Note every kind's present version and watch from there."""
        for api_version, kind in self._kinds:
            path = self._api.path(api_version, kind)
            version = self._api.request("GET", f"{path}?limit=1")["metadata"]["resourceVersion"]
            thread = threading.Thread(target=self._follow, args=(api_version, kind, version), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop recording."""
        self._stopping.set()

    @property
    def events(self) -> list[Event]:
        """All events so far, in the server's order."""
        with self._changed:
            return sorted(self._events, key=lambda event: event.version)

    def gone(self) -> list[Event]:
        """Return the DELETED events in the order in which the objects went."""
        return [event for event in self.events if event.type == "DELETED"]

    def gone_order(self, *kinds: str) -> list[Ref]:
        """Return which objects went, in order; of the given kinds only, if any are given."""
        return [event.ref for event in self.gone() if not kinds or event.ref.kind in kinds]

    def wait(self, condition: Callable[[list[Event]], bool], what: str, seconds: float = 60) -> None:
        """Wait until `condition` holds for the events so far; WaitTimeoutError after `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            with self._changed:
                seen = len(self._events)
            # Evaluated without the lock: a slow condition must not hold up the watches.
            if condition(self.events):
                return
            with self._changed:
                if self._failed:
                    raise ControlPlaneError(f"a watch of the timeline failed: {self._failed[0]}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise WaitTimeoutError(f"waited {seconds:.0f} s in vain: {what}")
                if len(self._events) == seen:
                    self._changed.wait(left)
            self._stopping.wait(_PAUSE_SECONDS)

    def settle(self, seconds: float = 10) -> None:
        """Give watches a moment that lag behind the last ends; what has not come then did not happen."""
        with contextlib.suppress(WaitTimeoutError):
            self.wait(_all_went, "the watches have caught up", seconds)

    def wait_gone(self, ref: Ref, seconds: float = 60) -> None:
        """Wait until an object has gone."""
        self.wait(
            lambda events: any(e.ref == ref and e.type == "DELETED" for e in events),
            f"{ref} is gone",
            seconds,
        )

    def _follow(self, api_version: str, kind: str, version: str) -> None:
        try:
            while not self._stopping.is_set():
                version = self._watch_once(api_version, kind, version)
                self._stopping.wait(0.05)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the thread that waits must hear of it
            with self._changed:
                self._failed.append(error)
                self._changed.notify_all()

    def _watch_once(self, api_version: str, kind: str, version: str) -> str:
        """Record one watch's events and return the last version seen."""
        try:
            for event_type, obj in self._api.watch(api_version, kind, version, seconds=_WATCH_SECONDS):
                if self._stopping.is_set():
                    break
                version = obj["metadata"]["resourceVersion"]
                if event_type != "BOOKMARK":
                    self._record(event_type, obj)
        except urllib3.exceptions.HTTPError:
            # A restarted API server ends the stream: go on from the last version seen.
            pass
        except ApiError as error:
            # Any other refusal may pass (a server that is starting); lost events may not.
            if error.status == _GONE:
                raise
        return version

    def _record(self, event_type: str, obj: Object) -> None:
        meta = obj["metadata"]
        ref = Ref(obj["kind"], meta.get("namespace", ""), meta["name"])
        if not self._only(ref):
            return
        meta.pop("managedFields", None)
        event = Event(
            time=time.time(),
            type=event_type,
            ref=ref,
            uid=meta["uid"],
            version=int(meta["resourceVersion"]),
            deleting="deletionTimestamp" in meta,
            finalizers=tuple(meta.get("finalizers", ())),
            object=obj,
        )
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()
        if self._on_event:
            self._on_event(event)

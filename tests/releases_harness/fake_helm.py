"""A fast stand-in for helm, for the race and the bench only: it asks us, and we write or delete the record.

A run of it waits for our answer, so that it lasts as long as what it does; each is noted with begin and end.
"""

import contextlib
import itertools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from controlplane.kube import ApiError, Object
from controlplane.plane import Plane

THREADS = 16
TRIES = 500
_SCRIPT = """#!/bin/sh
if [ "$1" = version ]; then printf v4.0.0-fake; exit 0; fi
verb=$1; release=$2
while [ $# -gt 0 ]; do if [ "$1" = --namespace ]; then namespace=$2; fi; shift; done
reply={folder}/reply.$$
mkfifo "$reply"
printf '%s %s %s %s\\n' "$verb" "$release" "$namespace" "$reply" > {fifo}
read -r code text < "$reply"
rm -f "$reply"
if [ "$code" != 0 ]; then printf 'Error: %s\\n' "$text" >&2; fi
exit "$code"
"""


@dataclass(frozen=True)
class Ran:
    """One run."""

    verb: str
    release: str
    began: float
    ended: float


@dataclass
class FakeHelm:
    """What plays helm."""

    plane: Plane
    folder: Path
    delay: float = 0.0
    ran: list[Ran] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    held: dict[str, threading.Event] = field(default_factory=dict)
    """Releases whose runs wait until their event is set."""

    def __post_init__(self) -> None:
        """Write the script and listen."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "helm"
        self._fifo = self.folder / "fifo"
        os.mkfifo(self._fifo)
        self.path.write_text(_SCRIPT.format(folder=self.folder, fifo=self._fifo))
        self.path.chmod(0o755)
        self._pool = ThreadPoolExecutor(THREADS)
        threading.Thread(target=self._listen, daemon=True).start()

    def overlaps(self) -> list[tuple[Ran, Ran]]:
        """Return runs for one release that ran at the same time."""
        found = []
        for release in {ran.release for ran in self.ran}:
            runs = sorted((ran for ran in self.ran if ran.release == release), key=lambda ran: ran.began)
            found += [(one, two) for one, two in itertools.pairwise(runs) if two.began < one.ended]
        return found

    def _listen(self) -> None:
        # Opened for writing too, so that it does not end when the last script closes it.
        with os.fdopen(os.open(self._fifo, os.O_RDWR), "r") as asked:
            for line in asked:
                verb, release, namespace, reply = line.split()
                self.asked.append(f"{verb} {release}")
                self._pool.submit(self._run, verb, (namespace, release), Path(reply))

    def _run(self, verb: str, key: tuple[str, str], reply: Path) -> None:
        began = time.monotonic()
        held = self.held.get(key[1])
        if held is not None:
            held.wait()
        time.sleep(self.delay)
        try:
            text = self._uninstall(key) if verb == "uninstall" else self._apply(verb, key)
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            text = f"{type(error).__name__}: {error}".replace("\n", " ")
        self.ran.append(Ran(verb, key[1], began, time.monotonic()))
        _answer(reply, f"{1 if text else 0} {text}\n".encode())

    def _apply(self, verb: str, key: tuple[str, str]) -> str:
        held = self._records(key)
        if verb == "install" and held:
            return "cannot reuse a name that is still in use"
        if verb != "install" and not held:
            return f"{key[1]} has no deployed releases"
        self.plane.api.create(record(key, len(held) + 1))
        return ""

    def _uninstall(self, key: tuple[str, str]) -> str:
        held = self._records(key)
        for obj in held:
            try:
                self.plane.api.delete(obj)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
        return "" if held else f"uninstall: Release not loaded: {key[1]}: release: not found"

    def _records(self, key: tuple[str, str]) -> list[Object]:
        return self.plane.api.list("v1", "Secret", key[0], labelSelector=f"owner=helm,name={key[1]}")


def _answer(reply: Path, text: bytes) -> None:
    """Write an answer once somebody reads; whoever asked may have been killed meanwhile."""
    for _ in range(TRIES):
        try:
            descriptor = os.open(reply, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
            continue
        with contextlib.suppress(OSError), os.fdopen(descriptor, "wb") as pipe:
            pipe.write(text)
        return


def record(key: tuple[str, str], version: int) -> Object:
    """Build a record as far as the release API reads it: its metadata."""
    labels = {"owner": "helm", "name": key[1], "version": str(version), "status": "deployed"}
    meta = {"name": f"sh.helm.release.v1.{key[1]}.v{version}", "namespace": key[0], "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "metadata": meta}

"""Thousands of LLMServices with what belongs to them, for the bench.

Recorded releases, routes, pods, and a fake helm that only tells a FIFO what it is asked for; `Uninstaller`
then removes the record and deletes the pod, as helm and the collector would. Pods run on a node that kwok
plays, and end some seconds after they are told to.
"""

import base64
import gzip
import json
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from controlplane.kube import ApiError, Object
from controlplane.plane import Plane
from llm_operator.api import DIGEST_LABEL, FINALIZER, OWNER_LABEL
from llm_operator.teardown.spec import Service
from operator_harness.world import API, ROUTE_API

NAMESPACES = 20
THREADS = 16
_FAKE = (
    "#!/bin/sh\n"
    'if [ "$1" = version ]; then printf v4.0.0-fake; exit 0; fi\n'
    'printf \'%s %s %s\\n\' "$1" "$2" "$4" > {fifo}\n'
)
_T = TypeVar("_T")
_R = TypeVar("_R")


def each(work: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
    """Do something for each item on a few threads."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, items))


@dataclass
class Crowd:
    """So many services on one plane."""

    plane: Plane
    number: int
    settle: str = "10s"
    pods_end_after: str = "6s"
    services: list[Object] = field(default_factory=list)

    def create(self, *, bare: bool = False) -> None:
        """Create the services; with their release, route and pod unless `bare`."""
        api = self.plane.api
        names = [f"crowd-{number:02d}" for number in range(NAMESPACES)]
        for name in names:
            api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for name in names:
            self.plane.wait(partial(api.find, "v1", "ServiceAccount", "default", name), f"account in {name}")
        self.services = each(self._service if bare else self._one, range(self.number))

    def delete(self) -> None:
        """Delete all of them at once."""
        each(self.plane.api.delete, self.services)

    def left(self) -> int:
        """Count the services that are still there."""
        return len(self.plane.api.list(API, "LLMService"))

    def _one(self, number: int) -> Object:
        service = self._service(number)
        meta = {key: service["metadata"][key] for key in ("name", "namespace")}
        route = {"apiVersion": ROUTE_API, "kind": "ModelRoute", "metadata": meta}
        self.plane.api.create(route)
        self.plane.api.create(_record(service, json.dumps(route)))
        self.plane.api.create(_pod(meta, self.pods_end_after))
        return service

    def _service(self, number: int) -> Object:
        meta = {
            "name": f"s{number:05d}",
            "namespace": f"crowd-{number % NAMESPACES:02d}",
            "finalizers": [FINALIZER],
        }
        chart = {"repository": "http://charts.invalid", "name": "textgen", "version": "0.1.0"}
        spec = {"chart": chart, "deletion": {"routeSettle": self.settle}}
        obj = {"apiVersion": API, "kind": "LLMService", "metadata": meta, "spec": spec}
        return {**self.plane.api.create(obj), "apiVersion": API, "kind": "LLMService"}


def _record(service: Object, manifest: str) -> Object:
    meta = service["metadata"]
    body = {
        "name": meta["name"],
        "namespace": meta["namespace"],
        "version": 1,
        "info": {"status": "deployed"},
        "chart": {"metadata": {"name": "textgen", "version": "0.1.0"}},
        "manifest": manifest,
    }
    data = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(body).encode()))).decode()
    labels = {"owner": "helm", "name": meta["name"], "version": "1", "status": "deployed"}
    labels |= {OWNER_LABEL: meta["uid"], DIGEST_LABEL: Service(service).digest}
    name = f"sh.helm.release.v1.{meta['name']}.v1"
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": {"name": name, "namespace": meta["namespace"], "labels": labels},
        "data": {"release": data},
    }


def _pod(meta: Object, end_after: str) -> Object:
    labels = {"app.kubernetes.io/instance": meta["name"]}
    annotations = {"controlplane/terminates-after": end_after}
    spec = {"nodeName": "gpu-1", "containers": [{"name": "server", "image": "server"}]}
    own = {**meta, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec}


class Uninstaller:
    """Does what the fake helm was asked for."""

    def __init__(self, plane: Plane, folder: Path) -> None:
        """Write the fake and listen."""
        self.helm = folder / "fake-helm"
        self._fifo = folder / "fifo"
        os.mkfifo(self._fifo)
        self.helm.write_text(_FAKE.format(fifo=self._fifo))
        self.helm.chmod(0o755)
        self._plane = plane
        self._pool = ThreadPoolExecutor(THREADS)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        # Opened for writing too, so that it does not end when the last fake closes it.
        with os.fdopen(os.open(self._fifo, os.O_RDWR), "r") as asked:
            for line in asked:
                _, release, namespace = line.split()
                self._pool.submit(self._uninstall, namespace, release)

    def _uninstall(self, namespace: str, release: str) -> None:
        core = f"/api/v1/namespaces/{namespace}"
        for path in (f"{core}/secrets/sh.helm.release.v1.{release}.v1", f"{core}/pods/{release}"):
            try:
                self._plane.api.request("DELETE", path)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise

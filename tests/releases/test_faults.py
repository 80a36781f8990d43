"""An API server that is busy, slow, forgetful, contended or dead: callers are told, and nothing is lost."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from controlplane.kube import wait_until
from operator_harness.proxy import Fault, Proxy
from operator_harness.world import PATIENCE, World
from releases_harness.callers import caller
from releases_harness.cases import Run
from releases_harness.seen import PLAN

BUSY = {"kind": "Status", "code": 429, "message": "too many requests"}
EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


@contextmanager
def _running(world: World, folder: Path, name: str, **case: object) -> Iterator[tuple[Run, Proxy]]:
    run = Run(world, {"id": name, "proxied": True, **case}, folder)
    try:
        run.set_up()
        assert run.proxy is not None
        yield run, run.proxy
        assert run.server.complaints() == []
    finally:
        run.end()


def test_busy(release_world: World, tmp_path: Path) -> None:
    """429: the call is repeated after Retry-After, and the caller notices nothing but time."""
    with _running(release_world, tmp_path, "busy") as (run, proxy):
        calls = {("PATCH", f"/configmaps/{PLAN}"): 2, ("POST", "/leases"): 1, ("DELETE", PLAN): 1}
        headers = {"Retry-After": "1"}
        busy = [
            proxy.add(Fault(*call, times=times, status=429, body=BUSY, headers=headers))
            for call, times in calls.items()
        ]
        run.step("do", {"DELETE": {"status": 200, "phase": "uninstalling"}})
        run.step("wait", {"row": "absent", "plan": "absent"})
        assert [fault.hits for fault in busy] == [2, 1, 1]


def test_contended(release_world: World, tmp_path: Path) -> None:
    """409: a plan that somebody else labels meanwhile is read again, and their label stays."""
    with _running(release_world, tmp_path, "contended", pods=[{"name": "sable-0"}]) as (run, proxy):
        fault = proxy.add(Fault("PATCH", f"/configmaps/{PLAN}", times=2, before=partial(_touch, run)))
        run.step("do", {"DELETE": {"status": 200, "phase": "uninstalling"}})
        run.step("check", {"row": {"phase": "uninstalling"}, "plan": {"phase": "uninstalling"}})
        assert fault.hits == 2
        assert len(run.helm.runs("uninstall")) == 1
        assert "example.test/touched" in _plan(run)["metadata"]["labels"]


def _plan(run: Run) -> dict[str, dict[str, dict[str, str]]]:
    return run.world.plane.api.get("v1", "ConfigMap", PLAN + run.name, run.namespace)


def _touch(run: Run) -> None:
    plan = {"apiVersion": "v1", "kind": "ConfigMap", **_plan(run)}
    touched = str(time.monotonic_ns())
    run.world.plane.api.patch(plan, {"metadata": {"labels": {"example.test/touched": touched}}})


@pytest.mark.parametrize("in_stream", [False, True], ids=["as an answer", "as an event"])
def test_expired(release_world: World, tmp_path: Path, *, in_stream: bool) -> None:
    """410: the collections are listed again, and nothing that happened meanwhile is missed."""
    with _running(release_world, tmp_path, "expired", pods=[{"name": "sable-0"}]) as (run, proxy):
        run.step("do", {"DELETE": {"status": 200}})
        held = threading.Event()
        event = {"type": "ERROR", "object": EXPIRED}
        status, body = (200, event) if in_stream else (410, EXPIRED)
        for path in ("/configmaps.*watch=1", "/pods.*watch=1", "/secrets.*watch=1", "/leases.*watch=1"):
            proxy.add(Fault("GET", path, status=status, body=body, held=held))
        proxy.cut()
        run.step("remove", "pod/sable-0")
        held.set()
        run.step("wait", {"row": "absent", "plan": "absent"})
        wait_until(lambda: _broken(run), "each watch says that it broke", PATIENCE)


def _broken(run: Run) -> bool:
    broke = [r for r in run.server.records() if r["event"] == "watch broke" and r["status"] == 410]
    return {r["watch"] for r in broke} == {"configmaps", "pods", "secrets", "leases"}


def test_dead(release_world: World, tmp_path: Path) -> None:
    """A server that answers nobody: lists come from memory, changes are refused, and later all goes on."""
    with _running(release_world, tmp_path, "dead", pods=[{"name": "sable-0"}]) as (run, proxy):
        run.step("do", {"DELETE": {"status": 200}})
        run.step("check", {"row": {"phase": "uninstalling", "pods": ["sable-0"]}})
        run.token = caller(release_world, run.namespace, "caller")  # Known to the server for ten seconds.
        run.step("check", {"row": {"phase": "uninstalling"}})
        proxy.dead = True
        proxy.cut()
        run.step("check", {"row": {"phase": "uninstalling"}})
        answer = run.send("DELETE")
        assert answer.status == 503, answer
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert int(answer.headers["Retry-After"]) > 0
        proxy.dead = False
        run.step("remove", "pod/sable-0")
        run.step("wait", {"row": "absent", "plan": "absent"})


def test_slow(release_world: World, tmp_path: Path) -> None:
    """A check that hangs at the API server holds no list back for longer than half a second."""
    with _running(release_world, tmp_path, "slow") as (run, proxy):
        held = threading.Event()
        proxy.add(Fault("GET", "/pods.*labelSelector", times=None, held=held))
        run.step("do", {"DELETE": {"status": 200}})
        began = time.monotonic()
        run.step("check", {"row": {"phase": "uninstalling"}})
        assert time.monotonic() - began < 25
        held.set()
        run.step("wait", {"row": "absent"})


def test_a_delete_that_meets_a_look(release_world: World, tmp_path: Path) -> None:
    """A check holds the lock while it looks: a DELETE meanwhile is not taken for one that is done already."""
    with _running(release_world, tmp_path, "look", backend="llmsvc") as (run, proxy):
        held, answers = threading.Event(), []
        run.step("do", {"DELETE": {"status": 200}})
        look = proxy.add(Fault("GET", f"/llmservices/{run.name}$", held=held))
        run.step("recreate", "now")
        wait_until(lambda: look.hits, "a check looks what became of the first", PATIENCE, 0.02)
        sender = threading.Thread(target=lambda: answers.append(run.send("DELETE")), daemon=True)
        sender.start()
        time.sleep(1)
        held.set()
        sender.join(PATIENCE)
        assert [answer.status for answer in answers] == [200]
        successor = run.world.find_service(run.namespace, run.name)
        assert successor is not None
        assert successor["metadata"].get("deletionTimestamp"), "the second DELETE was lost"


def test_a_lock_that_cannot_be_renewed(release_world: World, tmp_path: Path) -> None:
    """A holder that cannot renew kills its helm before others may begin, and says so."""
    run = Run(release_world, {"id": "renewal", "proxied": True}, tmp_path)
    run.server.lock_seconds = 30
    try:
        run.set_up()
        assert run.proxy is not None
        run.helm.hang("upgrade")
        answers = []
        sender = threading.Thread(target=lambda: answers.append(run.send("PUT")), daemon=True)
        sender.start()
        wait_until(lambda: run.helm.runs("upgrade"), "helm runs", PATIENCE, 0.02)
        (child,) = run.server.children()
        began = time.monotonic()
        run.proxy.add(Fault("PUT", "/leases/", times=None, drop=True))
        gone = lambda: not Path(f"/proc/{child}").exists()  # noqa: E731 - one condition
        wait_until(gone, "helm is dead before others may begin", 30, 0.02)
        assert time.monotonic() - began < 30
        sender.join(PATIENCE)
        assert [answer.status for answer in answers] == [503]
        assert [r["event"] for r in run.server.records() if "lock lost" in r["event"]] != []
        run.proxy.faults.clear()
        run.helm.heal("upgrade")
        run.step("wait", {"row": {"phase": "applied", "revision": 1}, "lock": False})
        run.step("do", {"PUT": {"status": 200, "phase": "applied"}})
        assert run.server.complaints() == []
    finally:
        run.end()


@pytest.mark.parametrize("hangs", [False, True], ids=["helm ends", "helm hangs"])
def test_sigterm(release_world: World, tmp_path: Path, *, hangs: bool) -> None:
    """What holds a lock is finished; what does not end in time is killed, and its lease left to run out."""
    run = Run(release_world, {"id": "sigterm"}, tmp_path)
    run.server.drain_seconds = 1 if hangs else 30
    try:
        run.set_up()
        if hangs:
            run.helm.hang("uninstall")
        answers: list[int] = []
        sender = threading.Thread(target=lambda: answers.append(run.send("DELETE").status), daemon=True)
        sender.start()
        wait_until(lambda: run.helm.runs("uninstall"), "helm runs", PATIENCE, 0.02)
        children = run.server.children()
        assert run.server.stop() == 0
        sender.join(10)
        assert [child for child in children if Path(f"/proc/{child}").exists()] == []
        leases = run.world.plane.api.list("coordination.k8s.io/v1", "Lease", run.namespace)
        assert len(leases) == (1 if hangs else 0)
        assert answers == ([] if hangs else [200]) or hangs
        assert run.server.complaints() == []
    finally:
        run.end()

"""What a request passes first: size, time, host; and what the server refuses to start with."""

import asyncio
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from operator_harness.world import World, kubeconfig_of
from release_api.guards import Guards, Limits
from release_api.metrics import Metrics
from releases_harness.callers import ALL, EVERYTHING, caller
from releases_harness.cases import Run
from releases_harness.client import Client
from releases_harness.server import MODULE, Embedded

Message = dict[str, Any]
OWN = (("", ("pods",), ALL), ("coordination.k8s.io", ("leases",), ALL))
"""What the server itself needs beside what its user installs, where it runs as that user."""


async def _echo(scope: Message, receive: Callable[[], Any], send: Callable[[Message], Any]) -> None:
    """Read the whole body, then answer."""
    del scope
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


async def _stuck(scope: Message, receive: Callable[[], Any], send: Callable[[Message], Any]) -> None:
    del scope, receive, send
    await asyncio.sleep(60)


def _status(app: Any, chunks: list[bytes], headers: dict[str, str], limits: Limits, **more: Any) -> int:  # noqa: ANN401 - ASGI
    """Send one request through the guards and return the status of its answer."""
    sent: list[Message] = []
    left = [*chunks]

    async def receive() -> Message:
        if not left:
            await asyncio.sleep(60)
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left) or more.get("slow", False)}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": more.get("method", "POST"),
        "path": "/x",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }
    guards = Guards(app, Metrics(), limits, more.get("hosts"))
    try:
        asyncio.run(guards(scope, receive, send))  # type: ignore[arg-type] # plain dicts
    except Exception as error:  # noqa: BLE001 - what the application's own handler makes an answer of
        return int(getattr(error, "status_code", 0))
    return int(sent[0]["status"])


SMALL = Limits(body=10, arrival=0.1, read=0.1, change=0.2)
GUARDED: dict[str, tuple[int, Any, list[bytes], dict[str, str], dict[str, Any]]] = {
    "fits": (200, _echo, [b"0123456789"], {"content-length": "10"}, {}),
    "says that it is too large": (413, _echo, [b""], {"content-length": "11"}, {}),
    "is too large and does not say so": (413, _echo, [b"01234", b"56789", b"0"], {}, {}),
    "lies about its length": (413, _echo, [b"x" * 11], {"content-length": "1"}, {}),
    "says nonsense": (413, _echo, [b""], {"content-length": "-1"}, {}),
    "comes drop by drop": (408, _echo, [b"0"], {}, {"slow": True}),
    "a read takes too long": (504, _stuck, [b""], {}, {"method": "GET"}),
    "a change takes too long": (504, _stuck, [b""], {}, {}),
    "another host": (421, _echo, [b""], {"host": "evil.example"}, {"hosts": ["localhost:1"]}),
    "no host": (421, _echo, [b""], {}, {"hosts": ["localhost:1"]}),
    "our host": (200, _echo, [b""], {"host": "localhost:1"}, {"hosts": ["localhost:1"]}),
}


@pytest.mark.parametrize("name", GUARDED)
def test_guards(name: str) -> None:
    """A request gets the answer of its row before anything of it is looked at."""
    status, app, chunks, headers, more = GUARDED[name]
    limits = replace(SMALL, change=30) if more.get("slow") else SMALL  # Only one of two may be due.
    assert _status(app, chunks, headers, limits, **more) == status


def test_rate_and_size(release_world: World, tmp_path: Path) -> None:
    """On a real server: too many changes are a 429 with a wait, too large a body a 413, reads go on."""
    run = Run(release_world, {"id": "limits", "installed": False}, tmp_path)
    run.server.flags = ("--write-rate", "0.001", "--write-burst", "2")
    try:
        run.set_up()
        statuses = [run.send("DELETE").status for _ in range(3)]
        assert statuses == [404, 404, 429]
        assert int(run.send("DELETE").headers["Retry-After"]) >= 1
        assert run.client.rows(run.namespace) == []
        other = run.server.client(caller(release_world, run.namespace, "other"))
        assert other.call("DELETE", run.path).status == 404
        large = run.body()
        large["values"]["x"] = "x" * 1024 * 1024
        answer = other.call("POST", run.path, large)
        assert (answer.status, answer.headers["Content-Type"]) == (413, "application/problem+json")
        assert run.server.complaints() == []
    finally:
        run.end()


def test_embedded(release_world: World, tmp_path: Path) -> None:
    """For trying out: loopback, the kubeconfig's user, a token file, and a Host header that is ours."""
    namespace = release_world.namespace("embedded")
    caller(release_world, namespace, "ada", (*EVERYTHING, *OWN))
    _show_nodes(release_world, namespace, "ada")
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    token.chmod(stat.S_IRUSR)
    run = Run(release_world, {"id": "embedded", "installed": False}, tmp_path, namespace)
    run.server = Embedded(release_world, tmp_path / "api", namespace, helm=str(run.helm.path))
    run.server.flags = ("--token-file", str(token))
    run.server.kubeconfig = kubeconfig_of(release_world.plane, (namespace, "ada"), tmp_path / "kubeconfig")
    run.token = "0123456789abcdef"  # noqa: S105 - made up
    try:
        run.set_up()
        assert run.server.url.startswith("http://127.0.0.1:")
        run.step("do", {"POST": {"status": 200, "phase": "applied"}})
        rows = run.client.rows(namespace)
        assert [row["phase"] for row in rows] == ["applied"]
        audit = run.client.call("GET", "/api/audit").body["items"]
        assert [row["user"] for row in audit] == [f"system:serviceaccount:{namespace}:ada"]
        assert Client(run.server.url, "wrong").call("GET", "/api/deployments").status == 401
        assert Client(run.server.url, "").call("GET", "/api/deployments").status == 401
        port = run.server.url.rpartition(":")[2]
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1"):
            assert run.client.call("GET", "/api/deployments", Host=host).status == 421
        assert run.client.call("GET", "/api/deployments", Host=f"localhost:{port}").status == 200
        assert "--kube-as-user" not in run.helm.log.read_text()
        assert run.server.complaints() == []
    finally:
        run.end()


def _show_nodes(world: World, namespace: str, name: str) -> None:
    """Let an account see the nodes: the pod rule asks whether they are ready."""
    rbac = "rbac.authorization.k8s.io"
    meta = {"name": f"{namespace}-nodes"}
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}]
    world.plane.api.apply(
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules}
    )
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": meta["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    world.plane.api.apply(binding)


@pytest.mark.parametrize("kind", ["nothing", "half a certificate", "open file", "short token", "both"])
def test_does_not_start_unprotected(kind: str, tmp_path: Path) -> None:
    """No combination of flags serves without authentication; each mistake is one clear line."""
    token = tmp_path / "token"
    token.write_text("short" if kind == "short token" else "0123456789abcdef")
    token.chmod(0o644 if kind == "open file" else 0o600)
    flags = {
        "nothing": [],
        "half a certificate": ["--tls-cert", "x"],
        "both": ["--tls-cert", "x", "--tls-key", "y", "--token-file", str(token)],
    }.get(kind, ["--token-file", str(token)])
    done = subprocess.run([sys.executable, "-m", MODULE, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("release-api: error: ")

"""The release API as a process of its own."""

import sys
from dataclasses import dataclass
from pathlib import Path

from controlplane import certs
from controlplane.kube import wait_until
from operator_harness.program import Program
from operator_harness.world import PATIENCE, kubeconfig_of
from releases_harness.callers import SERVER
from releases_harness.client import Client

MODULE = "release_api.main"


@dataclass
class Server(Program):
    """One server under the shipped account, by default for one namespace."""

    lock_seconds: float = 60.0
    write_rate: float = 1000.0
    identity: str = ""
    flags: tuple[str, ...] = ()
    audit_namespace: str = ""
    name = "release-api"

    def start(self, **env: str) -> None:
        """Start the process and wait until it is ready."""
        self.folder.mkdir(parents=True, exist_ok=True)
        own = self.helm_kubeconfig()
        argv = [sys.executable, "-m", MODULE, "--kubeconfig", str(self.kubeconfig or own)]
        argv += ["--helm-kubeconfig", str(own), "--helm", self.helm or self.world.plane.tools["helm"]]
        argv += ["--watch-namespace", self.namespace] if self.namespace else []
        audit = self.audit_namespace or self.namespace
        argv += ["--namespace", audit] if audit else []
        argv += ["--identity", self.identity] if self.identity else []
        argv += ["--lock-seconds", str(self.lock_seconds), "--port", "0"]
        argv += ["--write-rate", str(self.write_rate), "--write-burst", "1000"]
        argv += self.protection()
        argv += ["--drain-seconds", str(self.drain_seconds)]
        argv += ["--clock-offset-file", str(self.folder / "clock")] if self.movable else []
        self.launch([*argv, *self.flags], env)
        wait_until(self.ready, "the server is ready", PATIENCE, 0.05)

    def ready(self) -> bool:
        """Say whether the present run has read the cluster; one that has ended will never be."""
        assert not self.dead, self.log_file.read_text()[-3000:]
        if self.port() is None:
            return False
        return self.client("").call("GET", "/readyz").status == 200

    def port(self) -> int | None:
        """Return the port of the present run."""
        found = [r for r in self.records(present=True) if r["event"] == "starting"]
        return int(found[-1]["port"]) if found else None

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"https://127.0.0.1:{self.port()}"

    @property
    def ca(self) -> Path:
        """What its certificate is signed by."""
        return self.folder / "tls" / "ca.crt"

    def client(self, token: str) -> Client:
        """Return a client with a token."""
        return Client(self.url, token, self.ca)

    def helm_kubeconfig(self) -> Path:
        """Return what helm reaches the cluster with: the shipped account."""
        return kubeconfig_of(self.world.plane, SERVER, self.folder / "kubeconfig")

    def protection(self) -> list[str]:
        """Return the flags that make it serve a cluster."""
        tls = self._tls()
        return ["--tls-cert", str(tls / "tls.crt"), "--tls-key", str(tls / "tls.key")]

    def _tls(self) -> Path:
        folder = self.folder / "tls"
        if not folder.exists():
            ca = certs.authority("release-api-test")
            certs.signed(ca, ["127.0.0.1", "localhost"]).write(folder, ca.cert)
        return folder


@dataclass
class Embedded(Server):
    """One server for trying out: plain HTTP on loopback, as the user of its kubeconfig."""

    def helm_kubeconfig(self) -> Path:
        """Return the user's own."""
        assert self.kubeconfig is not None
        return self.kubeconfig

    def protection(self) -> list[str]:
        """Return none: its token file stands in `flags`."""
        return []

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self.port()}"

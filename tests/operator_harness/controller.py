"""The controller as a process of its own."""

import sys
from dataclasses import dataclass

from operator_harness.program import Program
from operator_harness.world import ACCOUNT, kubeconfig_of

CONTROLLER = "llm_operator.teardown.main"


@dataclass
class Controller(Program):
    """One controller that looks after one namespace (or all), under the shipped account."""

    account: tuple[str, str] = ACCOUNT
    identity: str = "test"
    lease_seconds: int = 60
    """Long, so that a machine that is busy with other tests loses nobody its lease."""
    flags: tuple[str, ...] = ()
    """More flags; of those that are taken once the last one counts."""
    python: str = sys.executable
    name = "controller"

    def start(self, **env: str) -> None:
        """Start the process; `env` is for this run only (fail points)."""
        own = kubeconfig_of(self.world.plane, self.account, self.folder / "kubeconfig")
        argv = [self.python, "-m", CONTROLLER, "--kubeconfig", str(self.kubeconfig or own)]
        argv += ["--helm-kubeconfig", str(own), "--helm", self.helm or self.world.plane.tools["helm"]]
        argv += ["--namespace", self.namespace] if self.namespace else []
        argv += ["--lease-name", self.namespace or "all", "--identity", self.identity]
        argv += ["--lease-seconds", str(self.lease_seconds), "--port", "0"]
        argv += ["--drain-seconds", str(self.drain_seconds), *self.flags]
        argv += ["--clock-offset-file", str(self.folder / "clock")] if self.movable else []
        self.launch(argv, env)

    def leads(self) -> bool:
        """Say whether its present run leads."""
        with self.log_file.open() as log:
            log.seek(self.began_at)
            return "became leader" in log.read()

    def waiting(self) -> bool:
        """Say whether its caches are filled and it waits for the lease."""
        return any(record["event"] == "waiting for the lease" for record in self.records())

    def port(self) -> int:
        """Return the port of its probes."""
        return next(int(r["port"]) for r in reversed(self.records()) if r["event"] == "starting")

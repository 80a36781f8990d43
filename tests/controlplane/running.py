"""A handle on a running plane: talk to its API server, start, stop and watch its processes, read its logs."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import urllib3

from controlplane import control, kubeconfig, layout
from controlplane.errors import ComponentDiedError, ControlPlaneError, WaitTimeoutError
from controlplane.kube import Api, ApiError
from controlplane.processes import Spec
from controlplane.supervisor import TOKEN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from controlplane.layout import Layout
    from controlplane.toolbox import Toolbox

TOKEN_SECONDS = 30 * 24 * 3600
_BEARER = re.compile(r"eyJ[\w-]{10,}\.[\w-]+\.[\w-]+")
_T = TypeVar("_T")


class Account(NamedTuple):
    """A ServiceAccount."""

    namespace: str
    name: str


class Ended(NamedTuple):
    """What a command that ran inside the plane left."""

    code: int
    stdout: str
    stderr: str


class RunningPlane:
    """What can be done with a plane whose supervisor runs, whoever started it."""

    def __init__(self, state: Layout, tools: Toolbox, api_port: int) -> None:
        """Take the state folder, the programs and the API server's port on the host."""
        self.state = state
        self.tools = tools
        self.server = f"https://127.0.0.1:{api_port}"
        self.api = Api(self.server, state.pki / "ca.crt", self.user_token("admin"))

    @property
    def name(self) -> str:
        """The plane's name."""
        return self.state.folder.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig: the only system:masters of the plane."""
        return self.state.kubeconfig

    @property
    def registry(self) -> str:
        """host:port of the OCI registry, as seen by everything inside the plane."""
        return layout.REGISTRY_HOST

    def user_token(self, user: str) -> str:
        """Return the token of a static user."""
        for line in self.state.tokens.read_text().splitlines():
            token, name, *_ = line.split(",")
            if name == user:
                return token
        raise ControlPlaneError(f"the plane has no static user {user!r}: name it in Options.users")

    def token(self, account: Account | tuple[str, str], audience: str | None = None) -> str:
        """Return a token of a ServiceAccount, valid for 30 days."""
        namespace, name = account
        spec: dict[str, Any] = {"expirationSeconds": TOKEN_SECONDS}
        if audience:
            spec["audiences"] = [audience]
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        answer = self.api.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", "spec": spec})
        return str(answer["status"]["token"])

    def kubeconfig_for(self, account: Account | tuple[str, str], *, inside: bool = False) -> Path:
        """Return a kubeconfig of a ServiceAccount, for use on the host or inside the plane."""
        path = self.state.private("kubeconfigs") / f"{'.'.join(account)}{'.inside' if inside else ''}"
        server = layout.API_URL if inside else self.server
        return kubeconfig.write(path, server, self._ca(), self.token(account))

    def credentials(self, account: Account | tuple[str, str]) -> Path:
        """Return a folder with token, ca.crt and namespace of a ServiceAccount, as a pod has it mounted."""
        folder = self.state.private("accounts", ".".join(account))
        folder.chmod(0o700)
        (folder / "token").write_text(self.token(account))
        (folder / "ca.crt").write_bytes(self._ca())
        (folder / "namespace").write_text(account[0])
        return folder

    def _ca(self) -> bytes:
        return (self.state.pki / "ca.crt").read_bytes()

    def _control(
        self, op: str, fds: tuple[int, ...] = (), timeout: float | None = 60, **arguments: object
    ) -> Any:  # noqa: ANN401 -- the shape depends on the operation
        return control.request(self.state.folder, {"op": op, **arguments}, fds, timeout)

    def start(self, spec: Spec) -> int:
        """Start a component and return its pid inside the plane."""
        return int(self._control("start", spec=asdict(spec)))

    def add_process(
        self,
        name: str,
        argv: list[str],
        env: Mapping[str, str] | None = None,
        account: Account | tuple[str, str] | None = None,
    ) -> int:
        """Start a long-running process of one's own inside the plane; its log is `logs(name)`.

        With an account it finds that account's credentials where a pod has them, so that in-cluster
        configuration works. Returns its pid inside the plane.
        """
        spec = Spec(name, argv, dict(env or {}))
        if account:
            spec = self.as_account(spec, account)
        return self.start(spec)

    def as_account(self, spec: Spec, account: Account | tuple[str, str]) -> Spec:
        """Return the spec with an account's credentials mounted where a pod has them."""
        address = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(layout.API_SERVER)}
        mounts = [(str(self.credentials(account)), str(TOKEN_FOLDER))]
        return replace(spec, env={**address, **spec.env}, mounts=[*spec.mounts, *mounts])

    def run(
        self,
        argv: list[str],
        env: Mapping[str, str] | None = None,
        account: Account | tuple[str, str] | None = None,
        timeout: float = 120,
    ) -> Ended:
        """Run a command inside the plane to its end, at most `timeout` seconds, and return its output."""
        spec = Spec(argv[0], argv, dict(env or {}))
        if account:
            spec = self.as_account(spec, account)
        nothing = Path(os.devnull)
        with nothing.open() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            fds = (stdin.fileno(), out.fileno(), err.fileno())
            code = self._control("run", fds, timeout, spec=asdict(spec))
            texts = [(file.seek(0), file.read().decode(errors="replace"))[1] for file in (out, err)]
        return Ended(code, *texts)

    def interactive(self, argv: list[str]) -> int:
        """Run a command inside the plane on this process's stdio, our programs on PATH; return its code."""
        folders = {str(program.parent) for program in self.tools.programs.values()}
        env = {
            "KUBECONFIG": str(self.state.private("kubeconfigs") / "admin"),
            "PATH": os.pathsep.join([*sorted(folders), os.environ.get("PATH", "")]),
        }
        return int(
            self._control("run", (0, 1, 2), None, spec=asdict(Spec(argv[0], argv, env, str(Path.cwd()))))
        )

    def kill(self, component: str, number: int = signal.SIGKILL) -> None:
        """Signal a component and wait until it has ended."""
        self._control("stop", name=component, signal=number)

    def stop(self, component: str) -> None:
        """Ask a component to end and wait for it, killing it after some seconds."""
        self.kill(component, signal.SIGTERM)

    def restart(self, component: str) -> None:
        """Stop a component (if it runs) and start it again as it was started before."""
        self._control("restart", name=component)

    def status(self) -> dict[str, dict[str, Any]]:
        """Return pid, state (running, stopped, died) and exit code of every component."""
        answer: dict[str, dict[str, Any]] = self._control("status")
        return answer

    def listening(self, port: int) -> bool:
        """Say whether something accepts connections on a port inside the plane."""
        return bool(self._control("probe", port=port))

    def forward(self, port: int) -> int:
        """Serve a port of the inside on a free loopback port of the host and return that."""
        with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
            self._control("forward", (listener.fileno(),), port=port)
            return int(listener.getsockname()[1])

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run our kubectl as the administrator and return its output; ControlPlaneError when it fails."""
        command = [self.tools["kubectl"], f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise ControlPlaneError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout + (done.stderr if done.returncode else "")

    def logs(self, component: str, lines: int | None = None) -> str:
        """Return a component's log (its last lines), tokens struck out."""
        path = self.state.log(component)
        text = path.read_text(errors="replace") if path.exists() else ""
        kept = text.splitlines()[-lines:] if lines else text.splitlines()
        return self._without_tokens("\n".join(kept))

    def _without_tokens(self, text: str) -> str:
        for line in self.state.tokens.read_text().splitlines():
            text = text.replace(line.split(",")[0], "<token>")
        return _BEARER.sub("<token>", text)

    def audit(self, containing: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
        """Yield the API server's audit events so far, in the order in which they were answered.

        Only lines that have all texts of `containing` are parsed: a long log is mostly about others.
        """
        with self.state.audit_log.open() as lines:
            for line in lines:
                # The last line may be half written.
                if line.endswith("\n") and all(text in line for text in containing):
                    yield json.loads(line)

    def check(self) -> None:
        """Raise ComponentDiedError, with the end of its log, when a component ended unasked."""
        for component, report in self.status().items():
            if report["state"] == "died":
                tail = self.logs(component, 20)
                raise ComponentDiedError(f"{component} ended by itself with code {report['code']}:\n{tail}")

    def wait(self, condition: Callable[[], _T], what: str, seconds: float = 180, pause: float = 0.1) -> _T:
        """Return the first truthy value of `condition`; an error of the API or its connection is not yet.

        WaitTimeoutError after `seconds`, ComponentDiedError as soon as a component has died.
        """
        deadline = time.monotonic() + seconds
        last: Exception | None = None
        while True:
            try:
                if value := condition():
                    return value
            except (ApiError, urllib3.exceptions.HTTPError) as error:
                last = error
            self.check()
            if time.monotonic() > deadline:
                raise WaitTimeoutError(
                    f"waited {seconds:.0f} s in vain: {what}{f' ({last})' if last else ''}"
                )
            time.sleep(pause)

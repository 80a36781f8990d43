"""Helm's command line: install, upgrade, rollback, uninstall. No shell, values by file, a bound on every run.

Each run is a child of its own in its own process group. It dies with this process (parent-death signal), so
that no orphaned helm works on after a restart; a killed run leaves a record that the next one finishes.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import orjson

from llm_operator.charts import Apply, Chart, Target
from llm_operator.durations import format_duration

MAJOR = "v4."
"""The Helm this module is written for: flags and messages differ between majors."""
KILL_AFTER = timedelta(seconds=10)
"""What helm gets beyond its own --timeout before its process group is killed."""
ERROR_LENGTH = 800
_NOT_FOUND = "release: not found"
_REASON = re.compile(
    r'^level=DEBUG msg="uninstall: Failed to delete release" error="\[(.*)\]"$', re.MULTILINE
)
_PASSED_ON = ("PATH", "LANG", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_IN_CLUSTER = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


class HelmError(RuntimeError):
    """Helm cannot be used at all: not found, or another major."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one run. `error` is empty on success, else one short text without values from Secrets."""

    output: str = ""
    error: str = ""
    not_found: bool = False

    def revision(self) -> int | None:
        """Return the revision in the JSON that install and upgrade print, None where there is none."""
        try:
            return int(orjson.loads(self.output)["version"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return None


@dataclass(slots=True)
class Slots:
    """Bounds how many helms start at the same time, not how many run.

    A starting helm costs CPU; one that waits for a hook costs none. So a slot is held for at most `hold`,
    and a release whose hooks block for minutes delays no other.
    """

    limit: int = 8
    hold: timedelta = timedelta(seconds=10)
    _semaphore: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Make the semaphore once the limit is known."""
        self._semaphore = asyncio.Semaphore(self.limit)

    @contextlib.asynccontextmanager
    async def starting(self) -> AsyncIterator[None]:
        """Hold a slot until the body ends or `hold` is over, whichever comes first."""
        await self._semaphore.acquire()
        timer = asyncio.get_running_loop().call_later(self.hold.total_seconds(), self._semaphore.release)
        try:
            yield
        finally:
            if timer.when() > asyncio.get_running_loop().time() and not timer.cancelled():
                timer.cancel()
                self._semaphore.release()


class Helm:
    """The helm binary with what every run shares: kubeconfig, a home of its own, and start slots."""

    def __init__(self, binary: str, kubeconfig: str | None, slots: Slots | None = None) -> None:
        """Look the binaries up; raises HelmError when one is not there."""
        self.binary = _found(binary, "install Helm 4 or pass --helm")
        self._leash = (_found("setpriv", "it comes with util-linux"), "--pdeathsig", "KILL", "--")
        self._slots = slots or Slots()
        self._home = tempfile.TemporaryDirectory(prefix="llm-operator-helm-")
        self._env = _environment(Path(self._home.name), kubeconfig)

    async def version(self) -> str:
        """Return helm's version; raises HelmError for another major than this module is written for."""
        result = await self._run(["version", "--template", "{{.Version}}"], timedelta(seconds=30))
        if not result.output.startswith(MAJOR):
            said = result.error or result.output
            raise HelmError(f"{self.binary} is not Helm {MAJOR}x but says: {said}")
        return result.output

    async def install(self, target: Target, chart: Chart, release: Apply) -> Result:
        """Install a release; helm refuses a name that is in use."""
        return await self._apply("install", target, chart, release)

    async def upgrade(self, target: Target, chart: Chart, release: Apply) -> Result:
        """Upgrade a release, also one whose first install failed."""
        return await self._apply("upgrade", target, chart, release)

    async def rollback(self, target: Target, limit: timedelta, revision: int | None = None) -> Result:
        """Roll back to a revision, else to the one before: that ends an upgrade that was interrupted."""
        number = [str(revision)] if revision is not None else []
        arguments = ["rollback", target.release, *number, *_target(target)]
        arguments += ["--timeout", format_duration(limit)]
        return await self._run(arguments, limit + KILL_AFTER)

    async def uninstall(self, target: Target, limit: timedelta) -> Result:
        """Uninstall a release. Does not wait for its pods, and never passes --ignore-not-found.

        That flag of Helm 4 makes a success of *any* failure to load the release, an unreachable API server
        included. Why a release could not be deleted helm says only with --debug (see `tidy`).
        """
        arguments = ["uninstall", target.release, *_target(target), "--debug"]
        arguments += ["--timeout", format_duration(limit)]
        return await self._run(arguments, limit + KILL_AFTER)

    async def _apply(self, verb: str, target: Target, chart: Chart, release: Apply) -> Result:
        with tempfile.TemporaryDirectory(prefix="values-", dir=self._home.name) as folder:
            files = _write_values(Path(folder), release.values)
            labels = ",".join(f"{key}={value}" for key, value in sorted(release.labels.items()))
            arguments = [verb, target.release, chart.reference, "--version", chart.version, *_target(target)]
            arguments += ["--repo", chart.repository] if chart.repository else []
            arguments += ["--plain-http"] if chart.plain_http else []
            arguments += ["--reuse-values"] if release.reuse_values else []
            arguments += [
                "--output",
                "json",
                "--labels",
                labels,
                "--timeout",
                format_duration(release.timeout),
            ]
            arguments += [part for file in files for part in ("--values", str(file))]
            # Two helms that fetch the same index at the same time would read each other's half of it.
            own = {"HELM_CACHE_HOME": str(Path(folder) / "cache")}
            return await self._run(arguments, release.timeout + KILL_AFTER, release.secrets, own)

    async def _run(
        self,
        arguments: Sequence[str],
        bound: timedelta,
        secrets: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Result:
        async with self._slots.starting():
            process = await asyncio.create_subprocess_exec(
                *self._leash,
                self.binary,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._env | dict(env or {}),
                start_new_session=True,
            )
            return await _finish(process, bound, secrets)


async def _finish(process: asyncio.subprocess.Process, bound: timedelta, secrets: Iterable[str]) -> Result:
    try:
        async with asyncio.timeout(bound.total_seconds()):
            output, errors = await process.communicate()
    except TimeoutError:
        return Result(error=f"helm did not end within {format_duration(bound)} and was killed")
    finally:
        await _end(process)
    if process.returncode == 0:
        return Result(output=output.decode(errors="replace").strip())
    text = tidy(errors.decode(errors="replace"), secrets) or f"helm ended with code {process.returncode}"
    return Result(error=text, not_found=text.endswith(_NOT_FOUND))


def tidy(text: str, secrets: Iterable[str] = ()) -> str:
    """Make one bounded line of helm's stderr, without its log and without any of the secret texts.

    Of the log only the reason is kept that helm leaves out of `failed to delete release`.
    """
    for secret in sorted((s for s in secrets if s), key=len, reverse=True):
        text = text.replace(secret, "***")
    lines = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.startswith(("WARNING", "level="))
    ]
    reasons = [reason.replace('\\"', '"') for reason in _REASON.findall(text)]
    line = ": ".join(["; ".join(lines).removeprefix("Error: "), *reasons])
    return line if len(line) <= ERROR_LENGTH else line[:ERROR_LENGTH] + "..."


def _found(binary: str, hint: str) -> str:
    path = shutil.which(binary)
    if path is None:
        raise HelmError(f"{binary!r} is not found on this machine: {hint}")
    return path


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill helm and whatever it started: the group outlives its leader, so it is tried on every way out.

    A run that was cut short, by its bound or by our own end, still has pipes and an exit to be told of: both
    are waited for, or they would come to an event loop that is closed by then.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILL_AFTER.total_seconds()):
            await process.communicate()


def _target(target: Target) -> list[str]:
    user = ["--kube-as-user", target.user] if target.user else []
    return [
        "--namespace",
        target.namespace,
        *user,
        *(p for g in target.groups for p in ("--kube-as-group", g)),
    ]


def _write_values(folder: Path, values: Iterable[bytes]) -> list[Path]:
    """Write each values document to a file that only we can read (the folder is 0700)."""
    files = []
    for number, document in enumerate(values):
        file = folder / f"{number:03d}.yaml"
        file.write_bytes(document)
        files.append(file)
    return files


def _environment(home: Path, kubeconfig: str | None) -> dict[str, str]:
    """Give helm a home of its own and nothing else of our environment: no plugins, no user configuration."""
    env = {key: os.environ[key] for key in (*_PASSED_ON, *_IN_CLUSTER) if key in os.environ}
    env |= {"HOME": str(home), "HELM_DRIVER": "secret"}
    env |= {f"HELM_{kind.upper()}_HOME": str(home / kind) for kind in ("cache", "config", "data")}
    return env | ({"KUBECONFIG": kubeconfig} if kubeconfig else {})

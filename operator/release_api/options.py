"""The server's flags."""

import argparse
import os
import socket
import uuid
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from llm_operator import flags
from release_api.rbac import NAMESPACE

_EPILOG = """
With --tls-cert and --tls-key it serves a cluster: TokenReview, SubjectAccessReview, helm as the caller.
Without, it is for trying out: on loopback only, as the user of the kubeconfig, for whoever has --token-file.
"""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; a combination that would serve unprotected ends the process."""
    flags = parser()
    options = flags.parse_args(arguments)
    if bool(options.tls_cert) != bool(options.tls_key):
        flags.error("--tls-cert and --tls-key go together")
    if options.tls_cert and options.token_file:
        flags.error("--token-file is for trying out: leave it out with --tls-cert")
    if not options.tls_cert:
        _check_token(flags, options.token_file)
        options.kubeconfig = options.kubeconfig or os.environ.get("KUBECONFIG") or _default_kubeconfig()
    options.namespace = options.namespace or (NAMESPACE if options.tls_cert else "default")
    return options


def parser() -> argparse.ArgumentParser:
    """Declare the flags."""
    made = argparse.ArgumentParser(
        prog="release-api",
        description="Releases of LLM servers over HTTP: listed until they are really gone.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _cluster(made)
    _serving(made)
    _autoscaling(made)
    return made


def _cluster(parser: argparse.ArgumentParser) -> None:
    flags.cluster(parser)
    add = parser.add_argument
    add(
        "--namespace",
        help=f"where audit rows and the seal's key lie; default: {NAMESPACE}, tried out: default",
    )
    add("--watch-namespace", help="look after releases of this namespace only; default: all")
    own = os.environ.get("POD_NAME") or f"{socket.gethostname()}_{os.getpid()}"
    identity = f"{own}_{uuid.uuid4().hex[:8]}"
    add(
        "--identity",
        default=identity,
        help="our name in leases; no two processes may ever share one; default: POD_NAME, else host and "
        "process, with a random end",
    )
    add("--lock-seconds", type=float, default=60.0, help="how long a lock whose holder died is waited for")
    add("--clock-offset-file", help="for tests: file with seconds to add to the server's clock")


def _serving(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", type=int, default=8443, help="port of the API, its probes and /metrics")
    add("--tls-cert", type=Path, help="certificate chain (PEM); read again when it changes")
    add("--tls-key", type=Path, help="its key (PEM)")
    add("--token-file", type=Path, help="trying out: file (mode 0600) whose text is the bearer token")
    add("--write-rate", type=float, default=10.0, help="changes a second for each user")
    add("--write-burst", type=int, default=40, help="changes at once for each user")
    add("--drain-seconds", type=float, default=20.0, help="what changes get to end when told to stop")
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    add("--log-level", default="INFO", choices=levels, help="the least that is logged")


def _autoscaling(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--prometheus-url",
        type=_url,
        help="Prometheus whose answers the autoscaler decides on; default: none",
    )
    add("--autoscale-seconds", type=float, default=15.0, help="between two looks of the autoscaler")


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError(f"{text!r} is no address: write it like http://prometheus:9090")
    return text


def _check_token(parser: argparse.ArgumentParser, file: Path | None) -> None:
    if file is None:
        parser.error("give --tls-cert and --tls-key to serve, or --token-file to try out")
    try:
        mode, text = file.stat().st_mode, file.read_text().strip()
    except OSError as error:
        parser.error(f"--token-file: {error}")
    if mode & 0o077:
        parser.error(f"--token-file: {file} can be read by others: chmod 600 {file}")
    if len(text) < 16:  # noqa: PLR2004 - 64 bits in hex
        parser.error(f"--token-file: {file} holds fewer than 16 characters: openssl rand -hex 32 > {file}")


def _default_kubeconfig() -> str:
    return str(Path.home() / ".kube" / "config")

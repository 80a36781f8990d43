"""Finds the server's address, its authority and the token: flags, else environment, else the kubeconfig.

A token is read from a file, or asked of the Kubernetes API for a service account (TokenRequest, for the
release API's audience), or taken from the kubeconfig's user: what an exec plugin gives or what stands there.
"""

import argparse
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from modelctl.exits import CommandError, Exit

AUDIENCE = "release-api"
TOKEN_SECONDS = 3600
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Login:
    """How to reach the release API. The token is never shown."""

    server: str
    token: Callable[[], str] = field(repr=False)
    """Asked before each call: a file's token is rotated while a command waits."""
    tls: ssl.SSLContext | None = None


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags; each has a variable of the environment in its place."""
    add = parser.add_argument_group("release API").add_argument
    add("--server", default=os.environ.get("MODELCTL_SERVER"), help="its address [MODELCTL_SERVER]")
    add("--ca", default=os.environ.get("MODELCTL_CA"), help="file of its certificate authority [MODELCTL_CA]")
    own = os.environ.get("MODELCTL_TOKEN_FILE")
    add("--token-file", default=own, help="file with the token, which is read anew [MODELCTL_TOKEN_FILE]")
    add("--service-account", metavar="NS/NAME", help="ask for a token of this account")
    add("--kubeconfig", default=os.environ.get("KUBECONFIG"), help="file to reach Kubernetes [KUBECONFIG]")


async def login(options: argparse.Namespace) -> Login:
    """Make a login of the flags; raises CommandError."""
    server = _server(options.server)
    tls = None if server.startswith("http:") else _tls(options.ca)
    return Login(server, await _token(options), tls)


def _server(given: str | None) -> str:
    if not given:
        raise CommandError(Exit.USAGE, "no release API to talk to: pass --server or set MODELCTL_SERVER")
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise CommandError(
            Exit.USAGE, f"{given!r} is no address: write it like https://release-api.example.org"
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise CommandError(
            Exit.USAGE, f"{given}: a token goes over plain HTTP to this machine only: use https"
        )
    return given.rstrip("/")


def _tls(authority: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except (OSError, ssl.SSLError) as error:
        raise CommandError(Exit.USAGE, f"--ca {authority}: {error}") from None


async def _token(options: argparse.Namespace) -> Callable[[], str]:
    if options.token_file:
        _from_file(Path(options.token_file))
        return lambda: _from_file(Path(options.token_file))
    token = await _asked(options)
    return lambda: token


async def _asked(options: argparse.Namespace) -> str:
    from modelctl import cluster  # noqa: PLC0415 - costs a second, and a token file needs none of it

    if options.service_account:
        namespace, slash, name = options.service_account.partition("/")
        if not slash or not namespace or not name:
            raise CommandError(Exit.USAGE, "--service-account is NAMESPACE/NAME")
        seconds = int(getattr(options, "timeout", 0)) + TOKEN_SECONDS
        return await cluster.request_token(options.kubeconfig, (namespace, name), AUDIENCE, seconds)
    token = await cluster.own_token(options.kubeconfig)
    if not token:
        said = "the kubeconfig's user has no token: pass --token-file or --service-account"
        raise CommandError(Exit.DENIED, said)
    return token


def _from_file(path: Path) -> str:
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(Exit.USAGE, f"--token-file {path}: {error}") from None
    if not token or not token.isascii() or any(character.isspace() for character in token):
        raise CommandError(Exit.USAGE, f"--token-file {path}: it must hold one token and nothing else")
    return token

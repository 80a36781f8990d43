"""Brings Kubernetes itself up on a launched plane: keys, tokens, servers in order."""

from __future__ import annotations

import base64
import json
import secrets
from typing import TYPE_CHECKING

import yaml

from controlplane import certs, components, kubeconfig, layout
from controlplane.running import Account, RunningPlane

if TYPE_CHECKING:
    from pathlib import Path

    from controlplane.layout import Layout
    from controlplane.options import Options

_NAMES = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1"]
# Kubernetes binds roles to these user names itself; `admin` is the only member of system:masters.
_OWN_USERS = {
    "admin": ("system:masters",),
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
}


def write_secrets(state: Layout, options: Options, server: str) -> None:
    """Make all keys, certificates, static tokens and kubeconfigs of a new plane."""
    pki = state.private("pki")
    pki.chmod(0o700)
    ca = certs.authority("plane")
    certs.signed(ca, _NAMES).write(pki, ca.cert)
    (pki / "sa.key").write_bytes(certs.private_key())
    tokens = {user: secrets.token_urlsafe(24) for user in (*_OWN_USERS, *options.users)}
    groups = {**_OWN_USERS, **options.users}
    lines = [f'{token},{user},{user},"{",".join(groups[user])}"' for user, token in tokens.items()]
    state.tokens.write_text("\n".join(lines) + "\n")
    state.tokens.chmod(0o600)
    for user, token in tokens.items():
        kubeconfig.write(state.private("kubeconfigs") / user, layout.API_URL, ca.cert, token)
    kubeconfig.write(state.kubeconfig, server, ca.cert, tokens["admin"])


def start_kubernetes(plane: RunningPlane, options: Options) -> None:
    """Start etcd, the API server and what the options ask for beside them, and wait until it all answers."""
    tools, state = plane.tools, plane.state
    plane.start(components.etcd(tools, state))
    plane.start(components.api_server(tools, state))
    if options.registry:
        state.private("registry")
        plane.start(components.registry(tools, state))
    plane.wait(lambda: plane.api.request("GET", "/readyz") == "ok", "the API server is ready", 120, 0.05)
    plane.start(components.controller_manager(tools, state, options))
    if options.scheduler:
        plane.start(components.scheduler(tools, state))
    if options.kwok:
        start_kwok(plane)
    # Pods cannot be created before: the ServiceAccount admission plugin asks for it.
    plane.wait(
        lambda: plane.api.find("v1", "ServiceAccount", "default", "default"), "the default ServiceAccount"
    )


def start_kwok(plane: RunningPlane) -> None:
    """Start kwok under its own account with the roles that its project ships."""
    # Its FlowSchema would exempt it from the API server's fair queueing: not needed for a handful of nodes.
    for name in ("service_account", "role", "role_binding"):
        apply_file(plane, plane.tools.assets["kwok"] / f"{name}.yaml")
    account = Account("kube-system", "kwok-controller")
    kubeconfig.write(
        plane.state.private("kubeconfigs") / account.name,
        layout.API_URL,
        (plane.state.pki / "ca.crt").read_bytes(),
        plane.token(account),
    )
    plane.start(components.kwok(plane.tools, plane.state))


def apply_file(plane: RunningPlane, path: Path) -> None:
    """Apply every document of a YAML file server-side."""
    for document in yaml.safe_load_all(path.read_text()):
        if document:
            plane.api.apply(document)


def read_secret(plane: RunningPlane, namespace: str, name: str) -> dict[str, bytes]:
    """Return the decoded data of a Secret."""
    data = plane.api.get("v1", "Secret", name, namespace).get("data") or {}
    return {key: base64.b64decode(value) for key, value in data.items()}


def describe(plane: RunningPlane, api_port: int) -> None:
    """Write what a later `attach` needs."""
    plane.state.description.write_text(json.dumps({"name": plane.name, "api_port": api_port}))

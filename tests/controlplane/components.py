"""How each server of Kubernetes itself and the registry are started. One function per server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controlplane import layout
from controlplane.processes import Spec

if TYPE_CHECKING:
    from controlplane.layout import Layout
    from controlplane.options import Options
    from controlplane.toolbox import Toolbox


def etcd(tools: Toolbox, state: Layout) -> Spec:
    """Etcd on loopback, without fsync: nothing here must survive a power cut."""
    client, peer = f"http://127.0.0.1:{layout.ETCD}", f"http://127.0.0.1:{layout.ETCD_PEER}"
    return Spec(
        "etcd",
        [
            tools["etcd"],
            f"--data-dir={state.private('etcd')}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ],
        phase=2,
    )


def api_server(tools: Toolbox, state: Layout) -> Spec:
    """kube-apiserver with RBAC, static tokens and an audit log of every request."""
    pki = state.pki
    return Spec(
        "kube-apiserver",
        [
            tools["kube-apiserver"],
            f"--etcd-servers=http://127.0.0.1:{layout.ETCD}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            # There is no kube-proxy: nothing could use the endpoints, and a loopback one is refused.
            "--endpoint-reconciler-type=none",
            f"--secure-port={layout.API_SERVER}",
            f"--tls-cert-file={pki / 'tls.crt'}",
            f"--tls-private-key-file={pki / 'tls.key'}",
            f"--service-account-key-file={pki / 'sa.key'}",
            f"--service-account-signing-key-file={pki / 'sa.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={state.tokens}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--audit-policy-file={layout.MANIFESTS / 'audit-policy.yaml'}",
            f"--audit-log-path={state.audit_log}",
            "--audit-log-maxsize=4096",
            # Aborts watches at once when asked to stop instead of waiting for their clients.
            "--shutdown-delay-duration=0s",
        ],
        phase=1,
    )


def controller_manager(tools: Toolbox, state: Layout, options: Options) -> Spec:
    """kube-controller-manager; each controller calls under its own service account."""
    return Spec(
        "kube-controller-manager",
        [
            tools["kube-controller-manager"],
            f"--kubeconfig={state.private('kubeconfigs') / 'system:kube-controller-manager'}",
            f"--service-account-private-key-file={state.pki / 'sa.key'}",
            f"--root-ca-file={state.pki / 'ca.crt'}",
            "--use-service-account-credentials",
            f"--controllers={','.join(options.controllers)}",
            "--leader-elect=false",
            # At start every controller fetches a token of its own: five seconds at the usual 20 a second.
            "--kube-api-qps=200",
            "--kube-api-burst=300",
            "--bind-address=127.0.0.1",
            f"--secure-port={layout.CONTROLLER_MANAGER}",
            f"--cert-dir={state.private('tmp', 'kube-controller-manager')}",
        ],
    )


def scheduler(tools: Toolbox, state: Layout) -> Spec:
    """kube-scheduler, which binds pods to the fake nodes."""
    return Spec(
        "kube-scheduler",
        [
            tools["kube-scheduler"],
            f"--kubeconfig={state.private('kubeconfigs') / 'system:kube-scheduler'}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={layout.SCHEDULER}",
            f"--cert-dir={state.private('tmp', 'kube-scheduler')}",
        ],
    )


def registry(tools: Toolbox, state: Layout) -> Spec:
    """`crane registry serve`, a local OCI registry for packages and charts."""
    return Spec(
        "registry",
        [
            tools["crane"],
            "registry",
            "serve",
            "--address",
            layout.REGISTRY_HOST,
            "--disk",
            str(state.registry),
        ],
        phase=1,
    )


def kwok(tools: Toolbox, state: Layout) -> Spec:
    """Kwok plays the kubelet of every node that carries the annotation `kwok.x-k8s.io/node: fake`."""
    return Spec(
        "kwok",
        [
            tools["kwok"],
            f"--config={layout.MANIFESTS / 'kwok.yaml'}",
            f"--kubeconfig={state.private('kubeconfigs') / 'kwok-controller'}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            f"--server-address=127.0.0.1:{layout.KWOK}",
            "--node-lease-duration-seconds=40",
        ],
    )

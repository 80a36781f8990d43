"""Installs the providers as packages and runs them, each under its own ServiceAccount."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from controlplane import layout
from controlplane.catalog import BINARIES
from controlplane.crossplane import loopback_service
from controlplane.errors import ControlPlaneError
from controlplane.layout import CROSSPLANE_NAMESPACE, REGISTRY_HOST
from controlplane.processes import Spec
from controlplane.running import Account, RunningPlane

if TYPE_CHECKING:
    from controlplane.kube import Object
    from controlplane.options import Options
    from controlplane.packages import Packages

# Public names keep working in `dependsOn` and `spec.package`: they are pulled from the plane's registry.
PUBLIC_HOSTS = ("xpkg.crossplane.io", "xpkg.upbound.io")
ORGANISATION = "crossplane-contrib"


def install(plane: RunningPlane, packages: Packages, options: Options) -> None:
    """Push, install and run the providers that the options name; wait until they are healthy."""
    for host in PUBLIC_HOSTS:
        plane.api.apply(_rewrite(host))
    for provider in options.providers:
        version = pinned_version(provider)
        packages.build_and_push(plane.tools.assets[provider], f"{ORGANISATION}/{provider}", version)
        account = _account(plane, provider)
        plane.start(plane.as_account(_process(plane, packages, options, provider), account))
        packages.declare("Provider", provider, f"{PUBLIC_HOSTS[0]}/{ORGANISATION}/{provider}:{version}")
    packages.settle()
    for provider in options.providers:
        # A pod starts when its package's kinds are served. A process that was there before stays deaf:
        # provider-kubernetes 1.2.1 then never reconciles an Object.
        plane.restart(provider)


def _process(plane: RunningPlane, packages: Packages, options: Options, provider: str) -> Spec:
    argv = [plane.tools[provider], f"--poll={options.poll}"]
    env = {"POD_NAMESPACE": CROSSPLANE_NAMESPACE}
    if provider == "provider-helm":
        # It caches charts in /tmp/charts by name and version: planes must not share that.
        return Spec(provider, argv, env, private_tmp=str(plane.state.private("tmp", provider)))
    argv += ["--enable-watches", f"--health-probe-bind-addr=:{layout.PROVIDER_HEALTH}"]
    return Spec(provider, argv, {**env, "TLS_SERVER_CERTS_DIR": str(packages.certificates(provider))})


def _account(plane: RunningPlane, provider: str) -> Account:
    account = Account(CROSSPLANE_NAMESPACE, provider)
    metadata = {"name": account.name, "namespace": account.namespace}
    # The package's conversion webhook is called under this name.
    plane.api.apply(loopback_service(provider, layout.PROVIDER_WEBHOOK))
    plane.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    # With InjectedIdentity a provider manages arbitrary objects of this cluster as itself. On a test cluster
    # it may do all; a real installation grants what its own Objects and Releases need.
    plane.api.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{provider}-cluster-admin"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        }
    )
    return account


def _rewrite(host: str) -> Object:
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": f"local-{host.replace('.', '-')}"},
        "spec": {
            "matchImages": [{"type": "Prefix", "prefix": f"{host}/"}],
            "rewriteImage": {"prefix": f"{REGISTRY_HOST}/"},
        },
    }


def pinned_version(provider: str) -> str:
    """Return the version that the provider's go.mod pins."""
    path = BINARIES / provider / "go.mod"
    match = re.search(rf"{ORGANISATION}/{provider} (v\S+)", path.read_text())
    if not match:
        raise ControlPlaneError(f"{path} pins no version of {provider}")
    return match[1]

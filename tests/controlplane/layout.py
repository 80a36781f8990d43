"""Where things are: the ports inside a plane's network namespace and the files of its state folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from controlplane.toolbox import cache_root

# Every plane has a network namespace of its own, so these never clash with another's or with the host's.
ETCD, ETCD_PEER = 2379, 2380
API_SERVER = 6443
CONTROLLER_MANAGER, SCHEDULER, KWOK = 10257, 10259, 10247
REGISTRY = 5000
PROVIDER_WEBHOOK = 9443  # fixed by controller-runtime; only provider-kubernetes serves one
PROVIDER_HEALTH = 8281
CROSSPLANE_WEBHOOK, CROSSPLANE_METRICS, CROSSPLANE_HEALTH = 9445, 8180, 8181
FIRST_FUNCTION = 9500

API_URL = f"https://127.0.0.1:{API_SERVER}"
# The name must contain a dot (Crossplane refuses `localhost`); 127.0.0.1 is pulled over plain HTTP.
REGISTRY_HOST = f"127.0.0.1:{REGISTRY}"
CROSSPLANE_NAMESPACE = "crossplane-system"

MANIFESTS = Path(__file__).parent / "manifests"


def planes_root() -> Path:
    """Return the folder that holds the state folders of all planes of this user."""
    override = os.environ.get("CONTROLPLANE_STATE")
    return Path(override) if override else cache_root() / "planes"


@dataclass(frozen=True)
class Layout:
    """The state folder of one plane."""

    folder: Path

    @property
    def description(self) -> Path:
        """What `Plane.attach` needs to know, as JSON; written when the plane is usable."""
        return self.folder / "plane.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, through the port on the host."""
        return self.folder / "kubeconfig"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log: one JSON event a line."""
        return self.folder / "audit.log"

    @property
    def pki(self) -> Path:
        """Keys and certificates of the API server."""
        return self.folder / "pki"

    @property
    def tokens(self) -> Path:
        """The static token file."""
        return self.pki / "tokens.csv"

    @property
    def registry(self) -> Path:
        """The disk of the OCI registry."""
        return self.folder / "registry"

    def log(self, component: str) -> Path:
        """Return the log of a component."""
        return self.folder / "logs" / f"{component}.log"

    def private(self, *parts: str) -> Path:
        """Return a folder below the state folder, made if need be."""
        path = self.folder.joinpath(*parts)
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

"""A cluster that the user brings, reached with a kubeconfig Secret and perhaps an identity Secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function.model import Credentials, Secret
from function.sources.base import KUBECONFIG, Source

if TYPE_CHECKING:
    from function.reading import Block

IDENTITIES = (
    "GoogleApplicationCredentials",
    "AWSWebIdentityCredentials",
    "NebiusServiceAccountCredentials",
)


def _reach(cluster: Block) -> Credentials:
    existing = _existing(cluster)
    if not existing.has("secretRef"):
        existing.fail("secretRef", "is required: name the Secret with the cluster's kubeconfig")
    ref = existing.block("secretRef")
    kubeconfig = Secret(KUBECONFIG, ref.text("name"), ref.text("key", "kubeconfig"))
    if not existing.has("identitySecretRef"):
        return Credentials(kubeconfig, None, (kubeconfig,))
    ref = existing.block("identitySecretRef")
    kind = ref.one_of("type", IDENTITIES, IDENTITIES[0])
    identity = Secret(kind, ref.text("name"), ref.text("key", "private_key"))
    return Credentials(kubeconfig, identity, (kubeconfig, identity))


def _existing(cluster: Block) -> Block:
    if not cluster.has("existing"):
        cluster.fail("existing", "is required when the source is Existing")
    return cluster.block("existing")


def _storage_class(cluster: Block) -> str:
    return _existing(cluster).block("cache").text("storageClassName", "")


SOURCE = Source(name="Existing", reach=_reach, storage_class=_storage_class)

"""How a ProviderConfig logs in: the Secrets that it names. Pure."""

from collections.abc import Iterator

from function.model import Ref
from modelctl.snapshot.objects import Manifest, block, namespace


def secrets(config: Manifest) -> Iterator[tuple[Ref, str]]:
    """Yield each Secret that a ProviderConfig names, with the key."""
    spec = block(config.get("spec"))
    for given in (block(spec.get("credentials")), block(spec.get("identity"))):
        named = block(given.get("secretRef"))
        if given.get("source") == "Secret" and named.get("name"):
            where = str(named.get("namespace") or namespace(config))
            yield Ref("v1", "Secret", str(named["name"]), where), str(named.get("key") or "kubeconfig")

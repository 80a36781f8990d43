"""Seals what the server stores in ConfigMaps, so that it knows its own word again. Pure.

An HMAC over the ConfigMap's UID and texts, by a key that lies in a Secret of the server's namespace. Whoever
may write ConfigMaps can change a plan, but not so that the server would run helm for them as somebody else.
"""

import hashlib
import hmac
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Seal:
    """Makes and checks seals with one key."""

    key: bytes = field(repr=False)

    def of(self, uid: str, *texts: str) -> str:
        """Return the seal of an object's texts."""
        digest = hmac.new(self.key, uid.encode(), hashlib.sha256)
        for text in texts:
            data = text.encode()
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()

    def holds(self, seal: str, uid: str, *texts: str) -> bool:
        """Say whether a seal is ours and of these texts."""
        return hmac.compare_digest(seal.encode(), self.of(uid, *texts).encode())

"""Writes kubeconfig files (JSON, which is YAML) for one user with a token."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, server: str, ca: bytes, token: str) -> Path:
    """Write a kubeconfig readable by its owner only and return its path."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "plane",
                "cluster": {"server": server, "certificate-authority-data": base64.b64encode(ca).decode()},
            }
        ],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [
            {"name": "plane", "context": {"cluster": "plane", "user": "user", "namespace": "default"}}
        ],
        "current-context": "plane",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=1))
    return path

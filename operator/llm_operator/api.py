"""The names of the LLMService API: group, kind, finalizer, labels.

Pure constants, used by code and generated YAML.
"""

GROUP = "serving.modelsphere.dev"
VERSION = "v1alpha1"
KIND = "LLMService"
PLURAL = "llmservices"
API_VERSION = f"{GROUP}/{VERSION}"

FINALIZER = f"{GROUP}/teardown"
OWNER_LABEL = f"{GROUP}/llmservice-uid"
"""On the release's Secret: the UID of the LLMService that installed it.

Without ours the release is someone else's.
"""
DIGEST_LABEL = f"{GROUP}/spec-digest"
"""On the release's Secret: what part of the spec was applied with this revision."""

CONTROLLER = "llmservice-controller"
RELEASE_NAME_LENGTH = 53
"""Helm's own limit."""

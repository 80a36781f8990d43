"""Names of what the API keeps in the cluster: ConfigMaps, Secrets, leases, labels. Pure."""

import hashlib

from llm_operator.api import GROUP, PLURAL, VERSION
from llm_operator.resources import CONFIGMAPS, LEASES, Ref, Resource

DOMAIN = "swiss.modelsphere.dev"
PHASE_LABEL = f"{DOMAIN}/phase"
"""On every plan: its phase. The set of uninstalling releases is rebuilt from it."""
RELEASE_LABEL = f"{DOMAIN}/release"
"""On everything of a release: plan, archives, policy, lease."""
AUDIT_LABEL = f"{DOMAIN}/audit"
LOCK_LABEL = f"{DOMAIN}/lock"
AUTOSCALE_LABEL = f"{DOMAIN}/autoscale"
OWNER_LABEL, OWNER = "owner", "swiss"
"""On archives, as helm's own `owner=helm` is on its records."""
OPERATION = f"{DOMAIN}/operation"
PLAN_VERSION = f"{DOMAIN}/plan-version"
"""Annotations of a lease: what its holder does, and the plan's resourceVersion when it began."""

SERVICES = Resource(GROUP, VERSION, PLURAL)
API = "release-api"
"""The server's account, Deployment and Service, and the audience of the tokens that it takes."""
AUDIENCE = API
LONGEST_NAME = 253
LONGEST_LABEL = 63
_HASH = 12

Key = tuple[str, str]
"""Namespace and name of a release."""


def fitted(text: str, longest: int) -> str:
    """Cut a name that is too long, with a hash of the whole at its end."""
    if len(text) <= longest:
        return text
    return f"{text[: longest - _HASH - 1].rstrip('-.')}-{hashlib.sha256(text.encode()).hexdigest()[:_HASH]}"


def release_label(release: str) -> str:
    """Return the value of RELEASE_LABEL: the name itself, unless it is longer than a label may be."""
    return fitted(release, LONGEST_LABEL)


def service_ref(key: Key) -> Ref:
    """Return where a release's LLMService lies."""
    return Ref(SERVICES, *key)


def plan_ref(key: Key) -> Ref:
    """Return where a release's plan lies."""
    return Ref(CONFIGMAPS, key[0], fitted(f"swiss-plan-{key[1]}", LONGEST_NAME))


def autoscale_ref(key: Key) -> Ref:
    """Return where a release's autoscaling policy lies."""
    return Ref(CONFIGMAPS, key[0], fitted(f"swiss-autoscale-{key[1]}", LONGEST_NAME))


def lock_ref(key: Key) -> Ref:
    """Return where a release's lease lies while somebody holds it."""
    return Ref(LEASES, key[0], fitted(f"swiss-lock-{key[1]}", LONGEST_NAME))


def archive_name(release: str, revision: int) -> str:
    """Name the archive of a revision."""
    return fitted(f"swiss-archive-{release}", LONGEST_NAME - 12) + f"-{revision}"


def audit_name(uid: str, event: str) -> str:
    """Name an audit row so that the same event of the same object has one name, whoever writes it."""
    return f"swiss-audit-{hashlib.sha256(f'{uid}/{event}'.encode()).hexdigest()[:40]}"

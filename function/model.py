"""The frozen values that flow from the request to the response.

A `Plan` says what to compose, never how it looks: `resources` renders it, `respond` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from function.structs import Plain
    from function.wire import Struct

# The namespace of everything namespaced that an InferenceCluster composes, as in Modelplane.
SYSTEM_NAMESPACE = "modelplane-system"

PROTECTION = "protection.crossplane.io/v1beta1"
INFRASTRUCTURE = "infrastructure.modelplane.ai/v1alpha1"
MODELPLANE = "modelplane.ai/v1alpha1"
KUBERNETES = "kubernetes.m.crossplane.io/v1alpha1"
HELM = "helm.m.crossplane.io/v1beta1"

# The key of the ServingStack that an InferenceCluster composes.
STACK = "serving-stack"

# The condition by which a ServingStack says that it composes the Usages of its own leaves.
ORDERED = "DeletionOrdered"

# Stamped on what this function composes: a resource with it that is no longer planned is ours to retire,
# one without it may belong to another step of the pipeline.
COMPOSED_LABEL = "inference.modelplane.ai/composed"

# On a ServingStack: the cluster XR that its leaves hold, as "<apiVersion> <kind> <name>".
CLUSTER_ANNOTATION = "inference.modelplane.ai/cluster"

# On a Release or Object, its own key: what the selector of a Usage by it matches, as in Modelplane.
USAGE_CONSUMER_LABEL = "modelplane.ai/usage-consumer"

# What Crossplane's webhook asks its Usages about.
IN_USE_LABEL = "crossplane.io/in-use"

# Where Crossplane records the propagation policy of a delete that a Usage refused.
ATTEMPT_ANNOTATION = "usage.crossplane.io/deletion-attempt-with-policy"

# On a guard of an InferenceCluster: what it stands for, to be asked for by name until it is gone.
USERS_ANNOTATION = "inference.modelplane.ai/users"

# On the guard of a staged teardown: a delete that was refused, and recorded, before that guard was there.
EARLIER_ANNOTATION = "inference.modelplane.ai/earlier-attempt"


class SpecError(Exception):
    """The input cannot be planned; the message says what, where and what to do."""


class Ref(NamedTuple):
    """One object of the API; `namespace` is empty for a cluster-scoped one."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        """Name it as `kubectl` would: kind, then namespace and name."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Edge:
    """`protected` may go only when `until_gone` is gone; the composed resource `key` is its Usage."""

    key: str
    protected: Ref
    until_gone: Ref
    by_controller: bool = False  # written with selectors by controller reference, as Modelplane does
    by_label: str = ""  # what USAGE_CONSUMER_LABEL of `until_gone` says, where it is selected by that


@dataclass(frozen=True, slots=True)
class ClusterXR:
    """The XR of a provisioned cluster."""

    kind: str
    name: str
    spec: Mapping[str, Plain]


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential: `kind` is Kubeconfig or an identity type, `namespace` empty for the stack's own."""

    kind: str
    name: str
    key: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to reach a cluster: a kubeconfig, perhaps with an identity, or the provider's own account."""

    kubeconfig: Secret | None = None
    identity: Secret | None = None
    secrets: tuple[Secret, ...] = ()

    @property
    def injected(self) -> bool:
        """Whether the provider's own service account is used (the control plane's own cluster)."""
        return self.kubeconfig is None

    def unowned(self, *, cluster_held: bool) -> tuple[Secret, ...]:
        """Return the Secrets that no cluster XR keeps: each consumer must hold them. Sorted, each once.

        A cluster XR that is held keeps the Secrets in its own namespace; those elsewhere are somebody's own.
        """
        ours = (s for s in self.secrets if not cluster_held or s.namespace)
        return tuple(sorted({Secret("", s.name, "", s.namespace) for s in ours}, key=lambda s: s.name))


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """A ProviderConfig of one provider; `namespace` empty makes it a ClusterProviderConfig."""

    api_version: str
    name: str
    namespace: str
    credentials: Credentials


@dataclass(frozen=True, slots=True)
class ServingStack:
    """The XR that installs the serving substrate."""

    name: str
    credentials: Credentials
    driver_root: str = ""
    cluster: Ref | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A Release or Object that a ServingStack composes, its spec ready to send."""

    ref: Ref
    spec: Mapping[str, Plain]
    labels: Mapping[str, str] = field(default_factory=dict)
    release_name: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """One Usage; whether it is a Usage or a ClusterUsage follows from the scope of what it protects."""

    edge: Edge
    namespace: str
    replay: bool = True


@dataclass(frozen=True, slots=True)
class Guard:
    """A reason-only ClusterUsage: it refuses every delete of `protected` for as long as it exists."""

    protected: Ref
    reason: str
    users: tuple[str, ...] = ()
    earlier: str = ""


@dataclass(frozen=True, slots=True)
class Carried:
    """An observed resource written again as it is, because it may not leave desired yet."""

    body: Struct
    overlay: Mapping[str, Plain] = field(default_factory=dict)


Content = ClusterXR | ProviderConfig | ServingStack | Leaf | Usage | Guard | Carried


@dataclass(frozen=True, slots=True)
class Step:
    """One composed resource: its stable key, what it holds, and whether it counts as ready."""

    key: str
    content: Content
    ready: bool = False


class Lookup(NamedTuple):
    """A required resource, asked for by name or by labels; no namespace means all namespaces."""

    api_version: str
    kind: str
    name: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of the composite; messages are sorted and carry no relative times."""

    kind: str
    status: bool
    reason: str
    message: str = ""


class Severity(Enum):
    """What a result does: FATAL makes Crossplane keep everything as it is."""

    NORMAL = "normal"
    WARNING = "warning"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Result:
    """A message to the user; becomes an event of the composite."""

    severity: Severity
    message: str


@dataclass(slots=True)
class Plan:
    """Everything that one call decides. Conditions are kept by type, so that each is written once."""

    steps: dict[str, Step] = field(default_factory=dict)
    lookups: dict[str, Lookup] = field(default_factory=dict)
    conditions: dict[str, Condition] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    status: dict[str, Plain] = field(default_factory=dict)
    stamps: dict[str, Mapping[str, str]] = field(default_factory=dict)  # labels for what others made
    ttl_seconds: int = 60
    in_use: bool = True  # whether anybody uses the InferenceCluster, or that is not known
    users: tuple[str, ...] = ()  # who does, as far as is known, sorted
    complete: bool = True  # False while a gate is closed: what is not planned yet cannot hold back readiness

    def add(self, step: Step) -> None:
        """Plan one composed resource; a second one under the same key is a fault of ours."""
        if step.key in self.steps:
            raise SpecError(f"two resources share the key {step.key}; rename one of them")
        self.steps[step.key] = step

    def say(self, severity: Literal[Severity.NORMAL, Severity.WARNING], message: str) -> None:
        """Add a result that stops nothing."""
        self.results.append(Result(severity, message))

    def conclude(self, condition: Condition) -> None:
        """Set a condition, replacing an earlier one of its type."""
        self.conditions[condition.kind] = condition

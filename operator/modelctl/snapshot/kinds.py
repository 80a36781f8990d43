"""Which kinds a snapshot has. Pure."""

from dataclasses import dataclass

from function.model import HELM, INFRASTRUCTURE, KUBERNETES, MODELPLANE, PROTECTION
from function.sources import SOURCES

PACKAGES = "pkg.crossplane.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
SERVING = "serving.modelsphere.dev/v1alpha1"
CONTROLLER_NAMESPACE = "llm-operator-system"
CONTROLLER = "llmservice-controller"
_AGGREGATED = "rbac.crossplane.io/aggregate-to-crossplane"


@dataclass(frozen=True, slots=True)
class Row:
    """One kind to list. `tree` says that objects of it go with an InferenceCluster.

    `metadata` leaves out everything but names and marks: for Secrets nothing else may be read.
    """

    api_version: str
    kind: str
    tree: bool = False
    metadata: bool = False
    namespace: str = ""
    labels: str = ""


CLUSTER_KINDS = tuple(source.provisioned.kind for source in SOURCES if source.provisioned is not None)

TABLE: tuple[Row, ...] = (
    Row(MODELPLANE, "InferenceCluster", tree=True),
    Row(INFRASTRUCTURE, "ServingStack", tree=True),
    *(Row(INFRASTRUCTURE, kind, tree=True) for kind in CLUSTER_KINDS),
    Row(KUBERNETES, "Object", tree=True),
    Row(HELM, "Release", tree=True),
    *(
        Row(api_version, kind, tree=True)
        for api_version in (KUBERNETES, HELM)
        for kind in ("ProviderConfig", "ClusterProviderConfig")
    ),
    *(Row(api_version, "ProviderConfigUsage") for api_version in (KUBERNETES, HELM)),
    Row(PROTECTION, "Usage", tree=True),
    Row(PROTECTION, "ClusterUsage", tree=True),
    Row(SERVING, "LLMService"),
    Row("v1", "Secret", metadata=True),
    *(Row(PACKAGES, kind) for kind in ("Function", "FunctionRevision", "Provider", "ProviderRevision")),
    *(Row(PACKAGES, kind) for kind in ("Configuration", "ConfigurationRevision")),
    Row("apiextensions.crossplane.io/v2", "CompositeResourceDefinition"),
    Row("apiextensions.crossplane.io/v1", "Composition"),
    Row(ADMISSION, "ValidatingAdmissionPolicy"),
    Row(ADMISSION, "ValidatingAdmissionPolicyBinding"),
    Row(ADMISSION, "ValidatingWebhookConfiguration"),
    Row("rbac.authorization.k8s.io/v1", "ClusterRole", metadata=True, labels="app=crossplane"),
    Row("rbac.authorization.k8s.io/v1", "ClusterRole", metadata=True, labels=f"{_AGGREGATED}=true"),
    Row("apps/v1", "Deployment", labels="app=crossplane"),
    Row("apps/v1", "Deployment", labels=f"app.kubernetes.io/name={CONTROLLER}"),
    Row("coordination.k8s.io/v1", "Lease", namespace=CONTROLLER_NAMESPACE),
)
"""A kind that is not served has no objects; that is no error."""

TREE = tuple(row for row in TABLE if row.tree)

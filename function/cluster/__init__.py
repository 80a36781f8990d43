"""Plans an InferenceCluster: cluster, ProviderConfigs, ServingStack, services, and what holds them."""

from function.cluster.course import compose

__all__ = ["compose"]

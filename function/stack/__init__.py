"""Plans a ServingStack: two ProviderConfigs, its components as Releases and Objects, and what holds what."""

from function.stack.plan import plan

__all__ = ["plan"]

"""Adds Usages to what the earlier steps of any pipeline desire, and changes nothing else of it."""

from function.late.plan import plan, require_earlier_steps

__all__ = ["plan", "require_earlier_steps"]

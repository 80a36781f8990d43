"""The errors of this package: each carries one message that says what, where and what to do."""

from __future__ import annotations


class ControlPlaneError(Exception):
    """The control plane could not do what it was asked for."""


class BuildError(ControlPlaneError):
    """A program of the control plane could not be built."""


class ComponentDiedError(ControlPlaneError):
    """A component ended without being asked to; the message has the end of its log."""


class WaitTimeoutError(ControlPlaneError):
    """A condition did not come true within its bound."""

"""What a plane consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Keep = Literal["none", "logs", "all"]


@dataclass(frozen=True)
class Options:
    """Which components run and how.

    etcd, kube-apiserver and kube-controller-manager always run. `users` maps names of further static users
    to their groups; each gets the token that `Plane.user_token` returns. `poll` is how often the providers
    look at what they manage. `keep` says what stays on disk at the end.
    """

    crossplane: bool = True
    providers: tuple[str, ...] = ("provider-kubernetes", "provider-helm")
    scheduler: bool = True
    kwok: bool = True
    registry: bool = True
    controllers: tuple[str, ...] = ("*", "-nodeipam")
    users: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"alice": ()})
    poll: str = "20s"
    crossplane_args: tuple[str, ...] = ()
    keep: Keep = "none"

    @classmethod
    def kubernetes(cls) -> Options:
        """Return the smallest plane: etcd, API server, controller manager."""
        return cls(crossplane=False, providers=(), scheduler=False, kwok=False, registry=False)

    @classmethod
    def with_pods(cls) -> Options:
        """Return Kubernetes with kube-scheduler and kwok, for what needs nodes and pods."""
        return cls(crossplane=False, providers=(), registry=False)

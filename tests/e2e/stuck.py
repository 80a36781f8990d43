"""What a lost row looks like: an Object that cannot finalize any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.world import OBJECT

if TYPE_CHECKING:
    from controlplane.timeline import Ref
    from support.world import World


def assert_stuck(world: World, leaf: Ref, because: str) -> None:
    """Assert that an Object cannot finalize any more although nothing refuses to go."""

    def says_why() -> bool:
        found = world.plane.api.find(*OBJECT, leaf.name, leaf.namespace)
        assert found, f"{leaf} went after all"
        conditions = found.get("status", {}).get("conditions", [])
        return any(because in c.get("message", "") for c in conditions)

    world.plane.wait(says_why, f"{leaf} says {because!r}", 120, pause=0.5)

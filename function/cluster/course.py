"""Which plan a pass makes: of a living InferenceCluster, or of one that is taken down in stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from function import spec
from function.cluster import teardown
from function.cluster.plan import plan
from function.model import SpecError

if TYPE_CHECKING:
    from function.model import Plan
    from function.moments import Moment
    from function.observed import Observed
    from function.settings import Settings
    from function.wire import Struct


def compose(composite: Struct, observed: Observed, settings: Settings, now: Moment) -> Plan:
    """Plan one pass.

    Raises:
        SpecError: the input cannot be planned; nothing may be composed from it.

    """
    request = teardown.read(composite)
    if request.underway:
        return teardown.take_down(request, observed, settings, now)
    try:
        made = plan(spec.parse(composite), observed, settings)
    except SpecError:
        # What is to be deleted need not be valid any more.
        if not teardown.begins(request, observed.get(teardown.GATE)):
            raise
        made = teardown.frozen(request, observed, settings)
    teardown.stand_by(made, request, observed, now)
    return made

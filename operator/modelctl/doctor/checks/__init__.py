"""The checks. A new one is a function in a file here and its row in the table; none knows another."""

from collections.abc import Mapping

from modelctl.doctor.checks import (
    attempts,
    configs,
    controller,
    crossplane,
    definitions,
    packages,
    policies,
    stuck,
    usages,
)
from modelctl.doctor.finding import Check

CHECKS: Mapping[str, Check] = {
    "crossplane": crossplane.served,
    "usage-webhook": crossplane.webhook,
    "packages-twice": packages.twins,  # First: it makes every other package unhealthy too.
    "packages": packages.healthy,
    "composition": packages.named,
    "roles": packages.allowed,
    "policies": policies.enforced,
    "break-glass": policies.break_glass,
    "controller": controller.running,
    "usages": usages.present,
    "stale-usages": usages.stale,
    "attempts": attempts.recorded,
    "lost-replays": attempts.lost,
    "provider-configs": configs.secrets,
    "stuck": stuck.deletions,
    "definitions": definitions.owned,
}

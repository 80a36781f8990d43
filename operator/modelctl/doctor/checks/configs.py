"""ProviderConfigs whose Secret is missing: what uses them can neither change nor finalize."""

from collections.abc import Iterator

from modelctl.doctor import logins, repair
from modelctl.doctor.finding import Finding, View, error
from modelctl.snapshot.objects import deleting, ref


def secrets(view: View) -> Iterator[Finding]:
    """Each Secret that a ProviderConfig names has to be there."""
    told = set()
    for config in view.snapshot.kind("ProviderConfig", "ClusterProviderConfig"):
        for secret, key in logins.secrets(config):
            if not view.snapshot.gone(secret) or deleting(config) or (secret, key) in told:
                continue
            told.add((secret, key))
            what = (
                f"its {secret} is missing: what uses it cannot finalize; "
                f"put the {key} in the file {secret.name}.{key}"
            )
            yield error(ref(config), what, repair.supply_secret(secret, key))

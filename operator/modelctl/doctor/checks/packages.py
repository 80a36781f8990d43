"""Whether the packages of Crossplane are healthy, above all the function: a sick one composes nothing."""

from collections.abc import Iterator

from modelctl.doctor import repair
from modelctl.doctor.finding import Finding, View, error
from modelctl.snapshot.kinds import PACKAGES
from modelctl.snapshot.objects import Manifest, Snapshot, block, condition, group, name, ref

_GROUP = group(PACKAGES)
_LABEL = "pkg.crossplane.io/package"
FUNCTION = "function-inference-cluster"
CONFIGURATION = "configuration-inference-cluster"
_KINDS = ("Function", "Configuration", "Provider")
_INSTALL = "crossplane xpkg install function REGISTRY/function-inference-cluster:v0.1.0"
_REGISTRY = "REGISTRY is where `make push REGISTRY=...` has put the packages"
_ROLES = ("function-inference-cluster:compose", "function-inference-cluster:read")
_ROLE = ("rbac.authorization.k8s.io", "ClusterRole")
_COMPOSITION = ("apiextensions.crossplane.io", "Composition")


def healthy(view: View) -> Iterator[Finding]:
    """Ask each package whether it is."""
    for kind in _KINDS:
        for package in view.snapshot.of(_GROUP, kind):
            yield from _one(view.snapshot, package)
    functions = view.snapshot.of(_GROUP, "Function")
    if (_GROUP, "Function") in view.snapshot.objects and not any(FUNCTION in name(f) for f in functions):
        what = f"is not installed: no InferenceCluster is composed; {_REGISTRY}"
        yield error(f"Function {FUNCTION}", what, _INSTALL)


def twins(view: View) -> Iterator[Finding]:
    """Tell of one package under two names: both want the same CRDs, and only one can have them."""
    for kind in _KINDS:
        first: dict[str, Manifest] = {}
        for package in sorted(view.snapshot.of(_GROUP, kind), key=_age):
            older = first.setdefault(_repository(package), package)
            if older is not package:
                what = f"is the same package as {name(older)}: both want to own what it defines"
                yield error(ref(package), what, repair.delete(package))


def named(view: View) -> Iterator[Finding]:
    """Demand a Composition that names the function, as the Configuration brings it: else nothing calls it."""
    if _COMPOSITION in view.snapshot.unread or _configured(view.snapshot):
        return  # One that is there and unhealthy is told as such.
    steps = [s for c in view.snapshot.of(*_COMPOSITION) for s in block(c.get("spec")).get("pipeline") or ()]
    called = {str(block(step.get("functionRef")).get("name")) for step in steps}
    for function in view.snapshot.of(_GROUP, "Function"):
        if FUNCTION in name(function) and name(function) not in called:
            what = "is named by no Composition, so nothing is composed: the Configuration is not installed"
            yield error(ref(function), what, _install_configuration(function))


def allowed(view: View) -> Iterator[Finding]:
    """Demand the roles that the Configuration needs: without them Crossplane composes nothing of it."""
    if _ROLE in view.snapshot.unread or not _configured(view.snapshot):
        return
    there = {name(role) for role in view.snapshot.of(*_ROLE)}
    for role in _ROLES:
        if role not in there:
            what = "is missing: Crossplane may not compose what an InferenceCluster consists of"
            yield error(f"ClusterRole {role}", what, "kubectl apply -f package/rbac.yaml")


def _configured(snapshot: Snapshot) -> bool:
    return any(CONFIGURATION in name(one) for one in snapshot.of(_GROUP, "Configuration"))


def _age(package: Manifest) -> tuple[str, str]:
    return str(package["metadata"].get("creationTimestamp")), name(package)


def _repository(package: Manifest) -> str:
    """Return the reference without tag and digest."""
    reference = str(block(package.get("spec")).get("package")).partition("@")[0]
    folder, _, image = reference.rpartition("/")
    return f"{folder}/{image.partition(':')[0]}"


def _install_configuration(function: Manifest) -> str:
    """Return the command: the registry is the one that the function came from, if it keeps its name there."""
    folder, _, image = _repository(function).rpartition("/")
    registry = folder if image == FUNCTION else "REGISTRY"
    return f"crossplane xpkg install configuration {registry}/{CONFIGURATION}:v0.1.0"


def _one(snapshot: Snapshot, package: Manifest) -> Iterator[Finding]:
    said = [condition(package, kind) for kind in ("Installed", "Healthy")]
    bad = [c for c in said if c.get("status") != "True"]
    revisions = [
        r
        for r in snapshot.of(_GROUP, f"{package['kind']}Revision")
        if block(r["metadata"].get("labels")).get(_LABEL) == name(package)
    ]
    active = [r for r in revisions if block(r.get("spec")).get("desiredState") == "Active"]
    latest = max(revisions, key=lambda r: int(r["spec"].get("revision") or 0), default=None)
    if not active and latest is not None:
        what = f"none of its revisions is active: it does nothing; the latest is {name(latest)}"
        yield error(ref(package), what, repair.merge(latest, {"spec": {"desiredState": "Active"}}))
    elif bad:
        yield error(ref(package), _said(bad), _repair(package, active))


def _said(bad: list[Manifest]) -> str:
    first = bad[0]
    message = " ".join(str(first.get("message") or first.get("reason") or "it has not said yet").split())
    return f"is not {str(first.get('type') or 'installed').lower()}: {message}"


def _repair(package: Manifest, active: list[Manifest]) -> str:
    """Go back to the package that works, where another one was asked for and cannot be installed."""
    for revision in active:
        image = revision["spec"].get("image")
        if (
            image
            and image != package["spec"].get("package")
            and condition(revision, "RevisionHealthy").get("status") == "True"
        ):
            return repair.merge(package, {"spec": {"package": image}})
    return repair.describe(active[0] if active else package)

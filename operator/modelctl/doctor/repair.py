"""Writes the commands that findings name: kubectl's, quoted for a shell, complete. Pure.

A command that takes something away says what it expects to find (`test`), so that it does nothing to an
object that has changed since.
"""

import json
import shlex
from collections.abc import Mapping

from function.model import Ref
from modelctl.snapshot.objects import PAUSED, Manifest, Snapshot, controller, group, paused, ref, uid

LOOK_AGAIN = "inference.modelplane.ai/look-again"


def target(of: Ref) -> tuple[str, ...]:
    """Return kind, name and namespace as kubectl takes them; the group keeps kinds of one name apart."""
    own = group(of.api_version)
    kind = f"{of.kind.lower()}.{own}" if own else of.kind.lower()
    return (kind, of.name, *(("-n", of.namespace) if of.namespace else ()))


def kubectl(verb: str, of: Ref, *more: str) -> str:
    """Return a kubectl command about an object."""
    return shlex.join(["kubectl", verb, *target(of), *more])


def unannotate(manifest: Manifest, key: str) -> str:
    """Take an annotation off."""
    return kubectl("annotate", ref(manifest), f"{key}-")


def merge(manifest: Manifest, body: Mapping[str, object]) -> str:
    """Change fields."""
    return kubectl("patch", ref(manifest), "--type=merge", "-p", json.dumps(body, separators=(",", ":")))


def without(manifest: Manifest, field: str, number: int, value: object) -> str:
    """Take one entry off a list of metadata, if object and entry are still the same."""
    path = f"/metadata/{field}/{number}"
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": uid(manifest)},
        {"op": "test", "path": path, "value": value},
        {"op": "remove", "path": path},
    ]
    return kubectl("patch", ref(manifest), "--type=json", "-p", json.dumps(operations, separators=(",", ":")))


def without_finalizer(manifest: Manifest, finalizer: str) -> str:
    """Take one finalizer off."""
    number = list(manifest["metadata"]["finalizers"]).index(finalizer)
    return without(manifest, "finalizers", number, finalizer)


def set_field(manifest: Manifest, path: str, value: object) -> str:
    """Replace one field by its path."""
    operations = [{"op": "replace", "path": path, "value": value}]
    return kubectl("patch", ref(manifest), "--type=json", "-p", json.dumps(operations, separators=(",", ":")))


def recompose(snapshot: Snapshot, composite: Manifest) -> str:
    """Let Crossplane compose again: what is paused is not looked at, and else a change makes it look."""
    for one in (composite, snapshot.by_uid(controller(composite))):
        if one is not None and paused(one):
            return unannotate(one, PAUSED)
    now = snapshot.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return kubectl("annotate", ref(composite), f"{LOOK_AGAIN}={now}", "--overwrite")


def describe(manifest: Manifest) -> str:
    """Look closer, where only a person can tell what to do."""
    return kubectl("describe", ref(manifest))


def delete(manifest: Manifest) -> str:
    """Delete in foreground."""
    return kubectl("delete", ref(manifest), "--cascade=foreground", "--wait=false")


def supply_secret(secret: Ref, key: str) -> str:
    """Create a Secret with what stands in a file that is named after it."""
    file = f"--from-file={key}={secret.name}.{key}"
    return shlex.join(["kubectl", "create", "secret", "generic", secret.name, "-n", secret.namespace, file])

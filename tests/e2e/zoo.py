"""Broken situations on a real control plane, for `modelctl doctor` to find and its commands to repair."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controlplane.kube import ApiError
from modelctl import main
from modelctl.exits import Exit
from support.product import ROOT
from support.world import CLUSTER, CLUSTER_USAGE, KUBERNETES_CONFIG, OBJECT, SYSTEM, USAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

Manifest = dict[str, Any]

ATTEMPT = "usage.crossplane.io/deletion-attempt-with-policy"
FUNCTION = ("pkg.crossplane.io/v1", "Function")
PROVIDER = ("pkg.crossplane.io/v1", "Provider")
NUDGE = "tests.example.org/nudge"
ADMISSION = "admissionregistration.k8s.io/v1"


class Zoo:
    """The shared plane, its living cluster, and doctor."""

    def __init__(self, world: World, folder: Path) -> None:
        """Take the world of the living cluster and a folder for the files that a command asks for."""
        self.world, self.plane, self.api, self.folder = world, world.plane, world.plane.api, folder

    def doctor(self) -> list[Manifest]:
        """Return what doctor finds now; its exit code has to say whether it is anything."""
        said = io.StringIO()
        arguments = ["doctor", "-o", "json", "--older-than", "0s"]
        with contextlib.redirect_stdout(said):
            code = main.run(arguments)
        findings: list[Manifest] = json.loads(said.getvalue())["findings"]
        assert code == (Exit.FAILED if findings else Exit.DONE)
        return findings

    def about(self, *objects: str) -> list[Manifest]:
        """Return what doctor finds about these objects."""
        return [finding for finding in self.doctor() if finding["object"] in objects]

    def silent(self, command: str, objects: tuple[str, ...]) -> bool:
        """Whether doctor does not ask for a command about these objects any more."""
        self.nudge(objects)
        return command not in [finding["command"] for finding in self.about(*objects)]

    def nudge(self, objects: tuple[str, ...]) -> None:
        """Make the provider look at Objects now: it looks only every 30 s whether what it deleted is gone."""
        for kind, _, name in (one.rpartition(f" {SYSTEM}/") for one in objects):
            if kind == OBJECT[1]:
                with contextlib.suppress(ApiError):
                    annotations = {NUDGE: secrets.token_hex(4)}
                    self.patch(OBJECT, name, {"metadata": {"annotations": annotations}}, SYSTEM)

    def shell(self, command: str) -> None:
        """Run a command as a person would: in a clone of the project, or where the files are."""
        kubectl = Path(self.plane.tools["kubectl"])
        env = {**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}
        where = ROOT if " -k " in command else self.folder
        argv = ["sh", "-ec", command]
        done = subprocess.run(
            argv, env=env, cwd=where, capture_output=True, text=True, timeout=180, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"

    # What situations are made of

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait three minutes at most."""
        self.plane.wait(condition, what, 180, pause=0.5)

    def find(self, kind: tuple[str, str], name: str, namespace: str = SYSTEM) -> Manifest | None:
        """Return an object."""
        return self.api.find(*kind, name, namespace or None)

    def patch(self, kind: tuple[str, str], name: str, body: object, namespace: str = "") -> None:
        """Change an object."""
        self.api.patch(head(kind, name, namespace), body)

    def annotate(self, kind: tuple[str, str], name: str, key: str, namespace: str = "") -> None:
        """Set an annotation to true."""
        self.patch(kind, name, {"metadata": {"annotations": {key: "true"}}}, namespace)

    def config(self, name: str, secret: str = "") -> None:
        """Create a ProviderConfig: of the control plane's own cluster, with a Secret or without."""
        credentials: Manifest = {"source": "InjectedIdentity"}
        if secret:
            ref = {"namespace": SYSTEM, "name": secret, "key": "kubeconfig"}
            credentials = {"source": "Secret", "secretRef": ref}
        self.api.create({**head(KUBERNETES_CONFIG, name, SYSTEM), "spec": {"credentials": credentials}})

    def object(self, name: str, config: str, finalizers: tuple[str, ...] = (), *, owns: bool = False) -> None:
        """Create an Object that manages a ConfigMap, and wait until it is ready.

        One that does not own it leaves it there: a provider takes half a minute to see that it has gone.
        """
        manifest = {"apiVersion": "v1", "kind": "ConfigMap"}
        manifest |= {"metadata": {"name": name, "namespace": SYSTEM}}  # type: ignore[dict-item]  # a manifest
        made = head(OBJECT, name, SYSTEM)
        made["metadata"]["finalizers"] = [*finalizers]
        ref = {"kind": "ProviderConfig", "name": config}
        policies = ["*"] if owns else ["Observe", "Create", "Update", "LateInitialize"]
        spec = {"forProvider": {"manifest": manifest}, "managementPolicies": policies}
        self.api.create({**made, "spec": {**spec, "providerConfigRef": ref}})
        self.wait(lambda: true(self.find(OBJECT, name), "Ready"), f"Object {name} is ready")

    def kubeconfig(self) -> str:
        """Return a kubeconfig by which providers reach the control plane."""
        return (self.plane.state.private("kubeconfigs") / "admin").read_text()

    def delete(self, kind: tuple[str, str], name: str, namespace: str = SYSTEM) -> None:
        """Delete an object in the background."""
        self.api.delete(head(kind, name, namespace), "Background")

    def protected(self, kind: tuple[str, str], name: str, namespace: str = SYSTEM) -> None:
        """Wait until a Usage protects an object: before that a delete would pass."""

        def labelled() -> bool:
            labels = (self.find(kind, name, namespace) or {})["metadata"].get("labels", {})
            return bool(labels.get("crossplane.io/in-use") == "true")

        self.wait(labelled, f"{name} is protected")

    def refused(self, kind: tuple[str, str], name: str, namespace: str = SYSTEM) -> None:
        """Delete an object that a Usage protects."""
        self.protected(kind, name, namespace)
        try:
            self.api.delete(head(kind, name, namespace), "Foreground")
        except ApiError as error:
            assert "in-use by" in str(error)  # noqa: PT017 -- a delete that passes is told below
            return
        raise AssertionError(f"{name} was not protected")

    def gone(self, kind: tuple[str, str], name: str, namespace: str = SYSTEM) -> None:
        """Wait until an object has gone."""
        self.wait(lambda: self.find(kind, name, namespace) is None, f"{name} is gone")

    def freeze(self, name: str) -> None:
        """Protect the living cluster by a ClusterUsage that gives a reason."""
        of = {"apiVersion": CLUSTER[0], "kind": CLUSTER[1], "resourceRef": {"name": self.world.name}}
        self.api.create({**head(CLUSTER_USAGE, name), "spec": {"of": of, "reason": "frozen"}})

    def usage(self, name: str, of: str, by: str) -> None:
        """Protect an Object until another one is gone."""
        kind = {"apiVersion": OBJECT[0], "kind": OBJECT[1]}
        ends = {end: {**kind, "resourceRef": {"name": one}} for end, one in (("of", of), ("by", by))}
        self.api.create({**head(USAGE, name, SYSTEM), "spec": ends})

    def write_kubeconfig(self, secret: str) -> None:
        """Have at hand what the command about a missing Secret asks for."""
        (self.folder / f"{secret}.kubeconfig").write_text(self.kubeconfig())

    def pending(self) -> str:
        """Return the reason of the living cluster's Teardown condition."""
        conditions = (self.find(CLUSTER, self.world.name, "") or {})["status"]["conditions"]
        return str(next((c["reason"] for c in conditions if c["type"] == "Teardown"), ""))

    def lose_usage(self, of_kind: str, by: str) -> None:
        """Delete the Usage of an object by a named one."""
        for usage in self.api.list(*USAGE, SYSTEM):
            spec = usage["spec"]
            if spec["of"]["kind"] == of_kind and spec["by"]["resourceRef"]["name"] == by:
                self.delete(USAGE, usage["metadata"]["name"])  # it waits for its user
                self.patch(USAGE, usage["metadata"]["name"], {"metadata": {"finalizers": None}}, SYSTEM)
                self.gone(USAGE, usage["metadata"]["name"])
                return
        raise AssertionError(f"there is no Usage of a {of_kind} by {by}")


@dataclass(frozen=True)
class Situation:
    """Something broken.

    `objects` are what doctor names for it, `check` is the one that finds it first. `afterwards` undoes what
    the situation needed and nobody would call broken; `helps` does after a command what no kubelet does here.
    """

    id: str
    check: str
    objects: Callable[[Zoo], tuple[str, ...]]
    breaks: Callable[[Zoo], None]
    afterwards: Callable[[Zoo], None] = lambda _: None
    helps: Callable[[Zoo], None] = lambda _: None


def repair(zoo: Zoo, situation: Situation) -> None:
    """Break something, find it, and do what doctor says until it is silent about it."""
    objects = situation.objects(zoo)
    assert zoo.about(*objects) == []
    try:
        situation.breaks(zoo)
        zoo.wait(lambda: zoo.about(*objects), f"doctor finds {situation.id}")
        found = zoo.about(*objects)
        assert situation.check in {finding["check"] for finding in found}, found
        while found:
            command = found[0]["command"]
            zoo.shell(command)
            situation.helps(zoo)
            zoo.wait(partial(zoo.silent, command, objects), f"`{command}` helps")
            found = zoo.about(*objects)
    finally:
        situation.afterwards(zoo)


def head(kind: tuple[str, str], name: str, namespace: str = "") -> Manifest:
    """Return the head of a manifest."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}


def true(found: Manifest | None, kind: str) -> bool:
    """Whether a condition is True."""
    conditions = (found or {}).get("status", {}).get("conditions") or []
    return any(c["type"] == kind and c["status"] == "True" for c in conditions)

"""The images run: each program is started from its image's files, as its user, and is asked something."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from crossplane.function import resource
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

from package.images import table
from support import serving
from support.containers import Container

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLUSTER: dict[str, Any] = {
    "apiVersion": "modelplane.ai/v1alpha1",
    "kind": "InferenceCluster",
    "metadata": {"name": "image"},
    "spec": {"cluster": {"source": "Local"}},
}
IMPORT_ALL = """
import importlib, json, os, pkgutil, sys
found = {}
for name in sorted({m.name for m in pkgutil.iter_modules()} - {"antigravity", "this", "__main__"}):
    try:
        importlib.import_module(name)
    except BaseException as error:
        found[name] = repr(error)
print(json.dumps(found))
"""
WHO = """
import json, os
def try_to_write(path):
    try:
        open(path, "w").close()
    except OSError as error:
        return error.strerror
    return "written"
with open("/proc/self/status") as status:
    capabilities = next(line.split()[1] for line in status if line.startswith("CapEff"))
written = [try_to_write("/app/x"), try_to_write("/tmp/x")]
print(json.dumps([os.getuid(), os.getgid(), int(capabilities, 16), *written]))
"""


def _python(container: Container, script: str) -> str:
    command = container.command(entrypoint=["python", "-c", script])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def _served(container: Container, port: int) -> Iterator[grpc.Channel]:
    command = container.command(["--insecure", f"--address=127.0.0.1:{port}"])
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            grpc.channel_ready_future(channel).result(timeout=60)
            yield channel
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


@pytest.mark.parametrize("name", ["function-inference-cluster"])
def test_the_function_answers(container: Container) -> None:
    """The function inside the image composes an InferenceCluster over gRPC."""
    request = fnv1.RunFunctionRequest()
    request.observed.composite.resource.update(CLUSTER)
    with _served(container, serving.free_port()) as channel:
        stub = grpcv1.FunctionRunnerServiceStub(channel)  # type: ignore[no-untyped-call]  # generated code
        answer: fnv1.RunFunctionResponse = stub.RunFunction(request, timeout=30)
    assert [result.message for result in answer.results if result.severity == fnv1.SEVERITY_FATAL] == []
    kinds = {resource.struct_to_dict(r.resource)["kind"] for r in answer.desired.resources.values()}
    assert "ServingStack" in kinds


@pytest.mark.parametrize("name", ["llm-operator"])
def test_the_controller_finds_its_helm(container: Container) -> None:
    """Helm 4 is on the PATH of the controller's image, and what ties it to the controller; both start."""
    tied = ["setpriv", "--pdeathsig", "KILL", "--", "helm", "version"]
    helm = subprocess.run(container.command(entrypoint=tied), capture_output=True, text=True, check=True)
    assert 'Version:"v4.' in helm.stdout
    command = container.command(["--help"])
    controller = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--helm-starts" in controller.stdout


@pytest.mark.parametrize("name", ["llm-operator"])
def test_the_controller_trusts_public_authorities(container: Container) -> None:
    """Charts come over HTTPS: Python and Go find the same bundle."""
    load = "ssl.create_default_context(cafile='/etc/ssl/certs/ca-certificates.crt').get_ca_certs()"
    assert int(_python(container, f"import ssl; print(len({load}))")) > 100


def test_every_module_loads(container: Container) -> None:
    """Nothing that was left out is missed: every module of the standard library and every package loads."""
    found = json.loads(_python(container, IMPORT_ALL).splitlines()[-1])
    # distutils makes this name only while it is imported by setuptools.
    found.pop("_distutils_system_mod", None)
    assert found == {}


def test_it_has_no_rights(container: Container) -> None:
    """The process is the image's user, has no capability, and can write nowhere but to /tmp."""
    uid, gid, capabilities, app, tmp = json.loads(_python(container, WHO))
    assert (uid, gid, capabilities) == (table.USER, table.USER, 0)
    assert (app, tmp) == (os.strerror(30), "written")


def test_a_damaged_layer_is_refused(built: Path, tmp_path: Path) -> None:
    """What runs is what the image's digests name, or nothing."""
    content = bytearray((built / "function-inference-cluster.tar").read_bytes())
    content[2_000_000] ^= 1
    (tmp_path / "damaged.tar").write_bytes(content)
    with pytest.raises(Exception, match=r"CRC|digest|invalid|decompress"):
        Container.unpack(tmp_path / "damaged.tar", tmp_path / "root")

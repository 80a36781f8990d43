"""What kubectl, Helm, the Python client and GitOps tools send by default, and what makes each pass."""

from __future__ import annotations

import subprocess
import uuid
from typing import TYPE_CHECKING

import kubernetes
import pytest
import yaml

from controlplane.errors import ControlPlaneError
from policies import planes
from policies.kinds import KINDS, PATIENCE, Object

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from controlplane.plane import Plane

MODEL = KINDS["ModelDeployment"]
COORDINATES = (MODEL.group, MODEL.versions[0])
REFUSED = "a delete has to ask for foreground propagation"


class Team:
    """A namespace with three ModelDeployments."""

    def __init__(self, plane: Plane, namespace: str) -> None:
        """Describe the team; nothing is created."""
        self.plane = plane
        self.namespace = namespace
        self.manifests = [_model(f"model-{number}", namespace) for number in range(3)]

    @property
    def path(self) -> str:
        """The collection of the team's ModelDeployments."""
        return f"{MODEL.root()}/namespaces/{self.namespace}/{MODEL.plural}"

    def left(self) -> list[str]:
        """Return the names of those that are there and not being deleted."""
        items = self.plane.api.list(MODEL.api_version(), MODEL.kind, self.namespace)
        return [item["metadata"]["name"] for item in items if "deletionTimestamp" not in item["metadata"]]

    def gone(self) -> bool:
        """Wait until none is left, replicas included."""
        kinds = (MODEL, KINDS["ModelReplica"])

        def empty() -> bool:
            return not any(
                self.plane.api.list(kind.api_version(), kind.kind, self.namespace) for kind in kinds
            )

        return self.plane.wait(empty, f"nothing is left in {self.namespace}", PATIENCE)


def _model(name: str, namespace: str) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": MODEL.api_version(), "kind": MODEL.kind, "metadata": metadata, "spec": {}}


@pytest.fixture
def team(platform: Plane) -> Team:
    """Return a namespace of its own with three ModelDeployments, each of which composes a tree."""
    team = Team(platform, f"team-{uuid.uuid4().hex[:8]}")
    platform.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team.namespace}})
    for manifest in team.manifests:
        platform.api.apply(manifest)
    return team


@pytest.fixture
def python(platform: Plane) -> Iterator[kubernetes.client.CustomObjectsApi]:
    """Return the Python client for custom objects."""
    config = str(platform.kubeconfig)
    with kubernetes.config.new_client_from_config(config) as client:  # type: ignore[no-untyped-call]  # the client has no types
        yield kubernetes.client.CustomObjectsApi(client)


def test_kubectl_delete_all(team: Team) -> None:
    """`kubectl delete --all` is refused for every object; with --cascade=foreground all of them go."""
    arguments = ("delete", MODEL.plural, "--all", "-n", team.namespace)
    with pytest.raises(ControlPlaneError) as refusal:
        team.plane.kubectl(*arguments)
    assert str(refusal.value).count(REFUSED) == 3
    assert len(team.left()) == 3
    team.plane.kubectl(*arguments, "--cascade=foreground")
    assert team.gone()


def test_kubectl_delete_file(team: Team, tmp_path: Path) -> None:
    """`kubectl delete -f` is refused; with --cascade=foreground all that the file lists goes."""
    file = tmp_path / "models.yaml"
    file.write_text(yaml.safe_dump_all(team.manifests))
    with pytest.raises(ControlPlaneError, match=REFUSED):
        team.plane.kubectl("delete", "-f", str(file))
    assert len(team.left()) == 3
    team.plane.kubectl("delete", "-f", str(file), "--cascade=foreground")
    assert team.gone()


def test_deletecollection_by_api(team: Team) -> None:
    """A DELETE of the collection is refused without foreground and leaves all; with it, all go."""
    wire = planes.wire_to(team.plane)
    answer = wire.send("DELETE", team.path, {"propagationPolicy": "Background"})
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert len(team.left()) == 3
    assert wire.send("DELETE", team.path, {"propagationPolicy": "Foreground"}).allowed
    assert team.gone()


def test_python_client(team: Team, python: kubernetes.client.CustomObjectsApi) -> None:
    """The Python client sends no policy of its own; `propagation_policy="Foreground"` passes."""
    where = (*COORDINATES, team.namespace, MODEL.plural)
    with pytest.raises(kubernetes.client.ApiException, match=REFUSED) as refusal:
        python.delete_namespaced_custom_object(*where, "model-0")
    assert refusal.value.status == 422
    python.delete_namespaced_custom_object(*where, "model-0", propagation_policy="Foreground")
    assert "model-0" not in team.left()


def test_python_client_collection(team: Team, python: kubernetes.client.CustomObjectsApi) -> None:
    """The Python client's delete of a collection is refused by default and passes with its policy given."""
    where = (*COORDINATES, team.namespace, MODEL.plural)
    with pytest.raises(kubernetes.client.ApiException, match=REFUSED):
        python.delete_collection_namespaced_custom_object(*where)
    assert len(team.left()) == 3
    python.delete_collection_namespaced_custom_object(*where, propagation_policy="Foreground")
    assert team.gone()


def _helm(plane: Plane, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [plane.tools["helm"], f"--kubeconfig={plane.kubeconfig}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Return a chart that holds one ModelDeployment."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: model\nversion: 0.1.0\n")
    manifest = _model("from-helm", "{{ .Release.Namespace }}")
    (tmp_path / "templates" / "model.yaml").write_text(yaml.safe_dump(manifest))
    return tmp_path


def test_helm_uninstall(team: Team, chart: Path) -> None:
    """`helm uninstall` fails, does not say why, keeps its record; `--cascade foreground` then finishes it."""
    release = ("model", "-n", team.namespace)
    installed = _helm(team.plane, "install", release[0], str(chart), *release[1:])
    assert installed.returncode == 0, installed.stderr
    refused = _helm(team.plane, "uninstall", *release)
    assert (refused.returncode, refused.stderr) == (1, "Error: failed to delete release: model\n")
    assert "STATUS: uninstalling" in _helm(team.plane, "status", *release).stdout
    assert REFUSED in _helm(team.plane, "uninstall", *release, "--debug").stderr
    assert "from-helm" in team.left()
    passed = _helm(team.plane, "uninstall", *release, "--cascade", "foreground")
    assert passed.returncode == 0, passed.stderr
    assert "from-helm" not in team.left()


def test_helm_upgrade_that_drops_a_resource(team: Team, chart: Path) -> None:
    """An upgrade that drops the object fails with the message, and passes once it was deleted by hand."""
    release = ("model", "-n", team.namespace)
    assert _helm(team.plane, "install", release[0], str(chart), *release[1:]).returncode == 0
    (chart / "templates" / "model.yaml").unlink()
    upgrade = ("upgrade", release[0], str(chart), *release[1:])
    refused = _helm(team.plane, *upgrade)
    assert refused.returncode == 1
    assert (
        f"kubectl delete {MODEL.plural} from-helm -n {team.namespace} --cascade=foreground" in refused.stderr
    )
    assert "from-helm" in team.left()
    team.plane.kubectl("delete", MODEL.plural, "from-helm", "-n", team.namespace, "--cascade=foreground")
    passed = _helm(team.plane, *upgrade)
    assert passed.returncode == 0, passed.stderr


# The options of each tool's delete call, read in its source at the version that policies/README.md names.
GITOPS = [
    pytest.param({"propagationPolicy": "Foreground"}, True, id="argo-cd-prune-and-cascade"),
    pytest.param({"propagationPolicy": "Background"}, False, id="argo-cd-with-background-asked-for"),
    pytest.param({"propagationPolicy": "Orphan"}, False, id="argo-cd-non-cascading-delete-of-one-resource"),
    pytest.param({"propagationPolicy": "Background"}, False, id="flux-kustomization-prune"),
    pytest.param({"propagationPolicy": "Background"}, False, id="helm-upgrade-drops-a-resource"),
    pytest.param({"propagationPolicy": "Foreground"}, True, id="flux-helmrelease-uninstall-foreground"),
    pytest.param({}, False, id="terraform-kubernetes-manifest"),
    pytest.param({}, False, id="client-go-dynamic-delete"),
]


@pytest.mark.parametrize(("options", "passes"), GITOPS)
def test_call_of_a_tool(team: Team, options: Object, passes: bool) -> None:  # noqa: FBT001 -- a column of the table
    """The call that the tool makes passes or is refused as the README says."""
    answer = planes.wire_to(team.plane).send(
        "DELETE", f"{team.path}/model-0", {"kind": "DeleteOptions", "apiVersion": "v1", **options}
    )
    assert answer.allowed == passes, answer.message
    assert ("model-0" in team.left()) != passes

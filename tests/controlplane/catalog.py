"""Which programs and files the control plane is made of, and from which pinned Go module each comes.

Data only. A folder of `binaries/` is one Go module (its own dependency tree) with a committed go.sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

BINARIES = Path(__file__).parent / "binaries"

_KUBERNETES = "k8s.io/kubernetes/cmd/"
_VERSION = "k8s.io/component-base/version."
CROSSPLANE = "2.3.4"
_CROSSPLANE_VERSION = "github.com/crossplane/crossplane-runtime/v2/pkg/version.version"
# The RBAC manager and the providers would all listen on :8080 and offer no flag for it.
_NO_METRICS = "-X sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress=0"


@dataclass(frozen=True)
class Module:
    """One folder, of `binaries/` or relative to it, and what is taken from it.

    `commands` maps an output name to its package. `assets` maps a name to (Go module, folder inside it):
    files such as CRDs that are copied beside the binaries, so that a later start needs no Go.
    """

    folder: str
    commands: dict[str, str]
    ldflags: str = ""
    assets: dict[str, tuple[str, str]] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The folder with go.mod and go.sum, and sources where the program is our own."""
        return BINARIES / self.folder

    @property
    def name(self) -> str:
        """What the cache calls it."""
        return self.path.name


MODULES = (
    Module("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
    Module("crane", {"crane": "github.com/google/go-containerregistry/cmd/crane"}),
    Module(
        "kubernetes",
        {
            name: _KUBERNETES + name
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
        },
        # Without these the API server reports a version that kubectl cannot parse.
        f"-X {_VERSION}gitVersion=v1.37.2 -X {_VERSION}gitMajor=1 -X {_VERSION}gitMinor=37",
    ),
    Module("helm", {"helm": "helm.sh/helm/v4/cmd/helm"}),
    Module(
        "kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, "", {"kwok": ("sigs.k8s.io/kwok", "kustomize/rbac")}
    ),
    Module(
        "crossplane",
        {"crossplane": "github.com/crossplane/crossplane/v2/cmd/crossplane"},
        # Without a version Crossplane calls every package with a version constraint incompatible.
        f"{_NO_METRICS} -X {_CROSSPLANE_VERSION}=v{CROSSPLANE}",
        {"crossplane": ("github.com/crossplane/crossplane/v2", "cluster")},
    ),
    Module(
        "crossplane-cli",
        {"crossplane-cli": "github.com/crossplane/cli/v2/cmd/crossplane"},
        f"-X {_CROSSPLANE_VERSION}=v2.5.0",
    ),
    Module(
        "provider-kubernetes",
        {"provider-kubernetes": "github.com/crossplane-contrib/provider-kubernetes/cmd/provider"},
        _NO_METRICS,
        {"provider-kubernetes": ("github.com/crossplane-contrib/provider-kubernetes", "package")},
    ),
    Module(
        "provider-helm",
        {"provider-helm": "github.com/crossplane-contrib/provider-helm/cmd/provider"},
        _NO_METRICS,
        {"provider-helm": ("github.com/crossplane-contrib/provider-helm", "package")},
    ),
    Module(
        "prometheus",
        {name: f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")},
        # Without the service discoveries of all clouds, whose client libraries are half of the build, and
        # without the web console's assets, which the module does not carry.
        tags=("remove_all_sd",),
    ),
)

TESTS_ONLY = ("prometheus",)
"""Folders of modules that no plane needs: built by `make binaries`, or when a test asks for them."""

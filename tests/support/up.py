"""Starts a local control plane that stays up, with this project installed: `make up INSTALL=1`."""

from __future__ import annotations

import argparse
import contextlib
import sys

from controlplane.errors import ControlPlaneError
from controlplane.plane import Plane
from support import product

NEXT = """\
InferenceCluster and ServingStack are served, the function answers, the policies are in force. Next:
  export KUBECONFIG={kubeconfig}
  kubectl apply -f examples/local/inferencecluster.yaml
  kubectl wait --for=condition=Ready inferencecluster/local --timeout=5m
  kubectl delete inferencecluster local --cascade=foreground
"""


def main() -> int:
    """Start it and say what to type; one that is up already is left as it is."""
    parser = argparse.ArgumentParser(prog="python -m support.up", description=__doc__)
    parser.add_argument("--name", default="default", help="which control plane (default: %(default)s)")
    name = parser.parse_args().name
    with contextlib.suppress(ControlPlaneError):
        Plane.attach(name)
        sys.stderr.write(
            f"error: a control plane named {name!r} is up already: `make down NAME={name}` ends it\n"
        )
        return 1
    plane = Plane.up(name)
    with contextlib.ExitStack() as stack:
        stack.push(plane)  # closes it, and shows its logs, unless all of this succeeds
        product.install(plane, product.small_stack())
        product.install_policies(plane)
        stack.pop_all()
    plane.detach()
    sys.stdout.write(NEXT.format(kubeconfig=plane.kubeconfig))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

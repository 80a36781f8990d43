"""The flags that every program here has: how to reach the cluster, and which helm."""

import argparse


def cluster(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    add = parser.add_argument
    add("--kubeconfig", help="file to reach the API server with; default: the pod's service account")
    add("--helm-kubeconfig", help="the same for helm; default: --kubeconfig")
    add("--helm", default="helm", help="the helm binary (Helm 4)")
    add("--helm-starts", type=int, default=8, help="how many helms may start at the same time")

"""Makes small Helm charts under the names and versions of the real ones: base chart in, .tgz out.

    python tests/e2e/charts/build.py --registry 127.0.0.1:5000 cert-manager=v1.17.1 lws=v0.8.0

Every chart is `base/` with another name and version: one ConfigMap and one Deployment with one replica. With
the value `hold: true` an uninstall lasts until somebody sets the phase of the Pod `<release>-hold`:

    kubectl patch pod mp-lws-hold -n lws-system --subresource=status -p '{"status":{"phase":"Succeeded"}}'
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import click
import yaml

BASE = Path(__file__).parent / "base"
PATIENCE = 60
"""Seconds for one helm command; packaging takes well under one, a push a few."""


def stamp(name: str, version: str, parent: Path) -> Path:
    """Write the chart `name` at `version` (SemVer, with or without a leading v) to a folder in `parent`."""
    chart = parent / name
    shutil.copytree(BASE, chart, dirs_exist_ok=True)
    metadata = {"apiVersion": "v2", "name": name, "version": version, "description": f"Stands in for {name}."}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(metadata))
    return chart


def build(name: str, version: str, out: Path, helm: str = "helm") -> Path:
    """Package the chart `name` at `version` into the folder `out`, and give the .tgz.

    Raises RuntimeError with helm's own message.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        _run(helm, "package", str(stamp(name, version, Path(scratch))), "--destination", str(out))
    return out / f"{name}-{version}.tgz"


def push(chart: Path, registry: str, helm: str = "helm") -> str:
    """Push a .tgz to `registry` (host:port, plain HTTP), and give what to name as a Release's repository.

    Raises RuntimeError with helm's own message.
    """
    repository = f"oci://{registry}/charts"
    _run(helm, "push", str(chart), repository, "--plain-http")
    return repository


def _run(*command: str) -> None:
    """Run one helm command, or raise with what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")


@click.command()
@click.argument("charts", nargs=-1, required=True, metavar="NAME=VERSION...")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/charts"), show_default=True)
@click.option("--registry", help="Push to this host:port too, over plain HTTP.")
@click.option("--helm", default="helm", show_default=True, help="The helm program.")
def main(charts: tuple[str, ...], out: Path, registry: str | None, helm: str) -> None:
    """Build the charts, and print where each one is."""
    for chart in charts:
        name, _, version = chart.partition("=")
        built = build(name, version, out, helm)
        click.echo(f"{push(built, registry, helm)}/{name}" if registry else built)


if __name__ == "__main__":
    main()

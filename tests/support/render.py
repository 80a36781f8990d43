"""Prints what Crossplane would compose for each example: the real `crossplane render`, without a cluster.

    python -m support.render              every case of every example
    python -m support.render eks          the cases of one example
    python -m support.render eks-in-use   one case
    python -m support.render --update     write the output to tests/render/expected instead

A case is one pass over an example: its composite, and what is observed at that time. The cases stand in
tests/render/cases.yaml, which says how to write one.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from controlplane.catalog import MODULES, Module
from controlplane.errors import ControlPlaneError
from controlplane.toolbox import ensure, entry
from support.rendering import ROOT, Case, Programs, Renderer, RenderError, load_cases
from support.serving import ServingError, serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import FrameType


def programs() -> Programs:
    """Return the programs from the cache of `make binaries`, building the two if it lacks them."""
    found = {m.folder: _program(m) for m in MODULES if m.folder in ("crossplane", "crossplane-cli")}
    return Programs(found["crossplane-cli"], found["crossplane"])


def _program(module: Module) -> Path:
    try:
        if not entry(module).exists():
            ensure(module, "[render]", _report)
    except (ControlPlaneError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise RenderError(f"cannot build {module.folder}: {reason} (`make binaries` shows more)") from error
    return entry(module) / module.folder


def _report(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def select(cases: dict[str, Case], names: Sequence[str]) -> list[Case]:
    """Return the cases of these names, be they of cases or of examples; all of them where there is none."""
    examples = {case.example for case in cases.values()}
    for name in names:
        if name not in cases and name not in examples:
            known = ", ".join(sorted({*examples, *cases}))
            raise RenderError(f"no example or case {name!r}; there are {known}")
    return [c for c in cases.values() if not names or c.name in names or c.example in names]


@contextmanager
def renderer() -> Iterator[Renderer]:
    """Serve the function, and beside it what an example's own pipeline starts with, and render with them."""
    found = programs()
    with serve("support.patching") as address:
        yield Renderer(found, address)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print or update; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m support.render", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help="an example or a case; all by default")
    parser.add_argument("--update", action="store_true", help="write the expected files")
    given = parser.parse_args(arguments)
    try:
        _render(given.names, update=given.update)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # of `| head`: what is left in the buffer would raise once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (RenderError, ServingError) as error:
        _report(f"error: {error}")
        return 1
    return 0


def _stop(number: int, _: FrameType | None) -> None:
    # Ends through the `with` blocks, so that the served function ends too.
    sys.exit(128 + number)


def _render(names: Sequence[str], *, update: bool) -> None:
    chosen = select(load_cases(), names)
    with renderer() as made:
        for case in chosen:
            text = made.render(case, fresh=True)
            if update:
                case.expected.write_text(text, "utf-8")
            sys.stdout.write(f"{case.expected.relative_to(ROOT)}\n" if update else f"{text}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    for handled in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(handled, _stop)
    sys.exit(main())

"""The order of each example as `modelctl plan` draws it, kept in tests/modelctl/expected.

`python -m support.orders` writes them again; read the difference.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from modelctl.order import documents, mermaid, svg, text
from modelctl.order.assemble import assemble
from modelctl.order.simulate import simulate

ROOT = Path(__file__).parents[2]
EXPECTED = ROOT / "tests" / "modelctl" / "expected"
DRAW = {"txt": text.plan, "mmd": mermaid.draw, "svg": svg.draw}


def examples() -> list[Path]:
    """Return the folders of examples that hold a composite."""
    folders = sorted(p for p in (ROOT / "examples").iterdir() if p.is_dir() and p.name != "demo")
    return [folder for folder in folders if _composites(folder)]


def _composites(folder: Path) -> bool:
    return any(found["kind"] in documents.COMPOSITES for found in documents.read([str(folder)]))


def draw(folder: Path) -> dict[str, str]:
    """Return the files of an example by name."""
    found = documents.read([str(folder)])
    world = asyncio.run(simulate(documents.composite(found), found))
    graph = assemble(world.root, world.things.values())
    return {f"{folder.name}.{kind}": "\n".join(lines(graph)) + "\n" for kind, lines in DRAW.items()}


def main() -> None:
    """Write the files of all examples, and remove those of examples that are gone."""
    EXPECTED.mkdir(exist_ok=True)
    files = {name: content for folder in examples() for name, content in draw(folder).items()}
    for path in EXPECTED.iterdir():
        if path.name not in files:
            path.unlink()
    for name, content in files.items():
        (EXPECTED / name).write_text(content)


if __name__ == "__main__":
    main()

"""The order as a picture: columns by the step down, so that up reads from left to right. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from modelctl.order.graph import Graph, Node

_LETTER, _BOX, _GAP_X, _GAP_Y, _EDGE = 6.6, 40, 90, 16, 20
_STYLE = (
    "text{font:11px sans-serif;fill:#222}.s{fill:#666;font-size:9px}rect{fill:#fff;stroke:#446;rx:4}"
    ".x rect{stroke-dasharray:4 3}path{fill:none;stroke:#88a;stroke-width:1;marker-end:url(#a)}"
)

_HEAD = (
    '<marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    '<path d="M0 0L8 4L0 8z" style="fill:#88a;stroke:none;marker-end:none"/></marker>'
)


@dataclass(frozen=True, slots=True)
class _Place:
    x: float
    y: float
    width: float


def draw(graph: Graph) -> list[str]:
    """Return the lines of the SVG document."""
    places = _places(graph)
    width = max(place.x + place.width for place in places.values()) + _EDGE
    height = max(place.y for place in places.values()) + _BOX + _EDGE
    title = escape(f"{graph.nodes[graph.root].label}: what outlives what")
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{title}</title><style>{_STYLE}</style>",
        f"<defs>{_HEAD}</defs>",
        *_arrows(graph, places),
        *(line for node in graph.nodes.values() for line in _box(graph, node, places[node.id])),
        "</svg>",
    ]


def _column(graph: Graph, node: Node) -> int:
    """Return an object's column: what goes last stands left; what stays stands with what goes last."""
    last = graph.down(graph.root)
    return last - graph.down(node.id) if node.ours else 0


def _places(graph: Graph) -> dict[str, _Place]:
    columns: dict[int, list[Node]] = {}
    for node in sorted(graph.nodes.values(), key=lambda node: (node.up, node.label)):
        columns.setdefault(_column(graph, node), []).append(node)
    places, x = {}, float(_EDGE)
    most = max(len(column) for column in columns.values())
    for number in sorted(columns):
        width = max(len(node.label) for node in columns[number]) * _LETTER + 2 * 8
        down = (most - len(columns[number])) / 2
        for n, node in enumerate(columns[number]):
            places[node.id] = _Place(x, _EDGE + (down + n) * (_BOX + _GAP_Y), width)
        x += width + _GAP_X
    return places


def _arrows(graph: Graph, places: dict[str, _Place]) -> Iterator[str]:
    for hold in graph.holds:
        start, end = places[hold.until_gone], places[hold.protected]
        x1, y1 = start.x, start.y + _BOX / 2
        x2, y2 = end.x + end.width, end.y + _BOX / 2
        bend = _GAP_X / 2
        names = f"{graph.nodes[hold.until_gone].label} holds {graph.nodes[hold.protected].label}"
        why = f": {hold.row.why}" if hold.row is not None else ""
        curve = f"M{x1:.0f} {y1:.0f}C{x1 - bend:.0f} {y1:.0f} {x2 + bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
        yield f'<path d="{curve}"><title>{escape(names + why)}</title></path>'


def _box(graph: Graph, node: Node, place: _Place) -> Iterator[str]:
    steps = f"up {node.up}, down {graph.down(node.id)}" if node.up else f"down {graph.down(node.id)}"
    said = node.state or (steps if node.ours else "stays")
    x, y = place.x, place.y
    yield f'<g class="{"n" if node.ours else "x"}">'
    yield f'<rect x="{x:.0f}" y="{y:.0f}" width="{place.width:.0f}" height="{_BOX}"/>'
    yield f'<text x="{x + 8:.0f}" y="{y + 17:.0f}">{escape(node.label)}</text>'
    yield f'<text class="s" x="{x + 8:.0f}" y="{y + 31:.0f}">{escape(said)}</text></g>'

"""The order as lines. Pure."""

from collections.abc import Callable, Iterable, Iterator
from textwrap import wrap

from modelctl.order.graph import Graph, Node

GONE = "gone"
WIDTH, MOST_NARROW = 110, 40


def plan(graph: Graph) -> list[str]:
    """Return the order up, the order down, and why."""
    root = graph.nodes[graph.root]
    return [
        f"{root.label} comes up in this order; a step begins when what it needs of those before is ready:",
        *_steps(graph, lambda node: node.up),
        "",
        "and goes in this order, what a ServingStack composed not before that is let go of; a line ends when",
        "what it waits for is gone:",
        *_down(graph),
        "",
        *_why(graph),
    ]


def _steps(graph: Graph, step: Callable[[Node], int]) -> Iterator[str]:
    nodes = [node for node in graph.nodes.values() if node.ours and node.id != graph.root]
    for number in sorted({step(node) for node in nodes}):
        yield from _folded(f"  {number:>2}  ", ", ".join(_names(n for n in nodes if step(n) == number)))


def _down(graph: Graph) -> Iterator[str]:
    nodes = _in_order(graph)
    width = max(len(node.label) for node in nodes)
    for node in nodes:
        yield from _folded(f"  {graph.down(node.id):>2}  {node.label:{width}}  ", waits(graph, node))


def _in_order(graph: Graph) -> list[Node]:
    ours = (node for node in graph.nodes.values() if node.ours)
    return sorted(ours, key=lambda node: (graph.down(node.id), node.label))


def _folded(start: str, text: str) -> list[str]:
    """Fold a text at the width of a page, further lines under the first."""
    lines = wrap(text, max(WIDTH - len(start), MOST_NARROW), break_long_words=False, break_on_hyphens=False)
    return [(start if n == 0 else " " * len(start)) + line for n, line in enumerate(lines)]


def waits(graph: Graph, node: Node) -> str:
    """Say what an object waits for before it goes."""
    holders = ", ".join(_names(graph.nodes[one] for one in graph.holders(node.id)))
    parts = [f"after {holders}"] if holders else []
    parts += ["after all that it composed"] if graph.composed(node.id) else []
    return "; ".join(parts) or "nothing holds it"


def _why(graph: Graph) -> Iterator[str]:
    yield "Each of them is held by a Usage, because without it:"
    rows = {hold.row.name: hold.row for hold in graph.holds if hold.row is not None}
    for row in rows.values():
        yield f"  {row.protected.value}, until gone: {row.until_gone.value}"
        yield f"      {row.why}"
    kept = [node for node in graph.nodes.values() if not node.ours]
    if kept:
        yield f"It stays, but cannot be deleted before: {', '.join(_names(kept))}"


def live(graph: Graph) -> list[str]:
    """Return what is there now, and what holds what now."""
    nodes = _in_order(graph)
    width, states = max(len(node.label) for node in nodes), max(len(node.state) for node in nodes)
    lines = []
    for node in nodes:
        start = f"{node.label:{width}}  {node.state:{states}}  "
        lines += _folded(start, _held(graph, node)) or [start.rstrip()]
    root = graph.nodes[graph.root].label
    return lines + [f"no delete of {root} is accepted: {reason}" for reason in graph.refused]


def _held(graph: Graph, node: Node) -> str:
    """Name what holds an object now. A Usage whose user is gone lets go when Crossplane looks next."""
    if node.state == GONE:
        return ""
    holders = [graph.nodes[one] for one in graph.holders(node.id)]
    there = ", ".join(_names(one for one in holders if one.state != GONE))
    gone = ", ".join(_names(one for one in holders if one.state == GONE))
    parts = [f"held by {there}"] if there else []
    parts += [f"about to be let go of: {gone} is gone"] if gone else []
    left = [one for one in graph.composed(node.id) if graph.nodes[one].state != GONE]
    parts += [f"composed {len(left)} that {'is' if len(left) == 1 else 'are'} there"] if left else []
    return "; ".join(parts) or "nothing holds it"


def _names(nodes: Iterable[Node]) -> list[str]:
    return sorted(node.label for node in nodes)

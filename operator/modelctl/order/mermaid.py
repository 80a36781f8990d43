"""The order as a Mermaid flowchart: from left to right up, along the arrows down. Pure."""

from collections.abc import Iterator

from modelctl.order.graph import Graph, Node


def draw(graph: Graph) -> list[str]:
    """Return the lines of the flowchart."""
    ids = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    lines += _group(graph, ids, graph.root, 1)
    for node in graph.nodes.values():
        if not node.ours:
            lines.append(f"  {ids[node.id]}{_box(graph, node)}")
    lines += [f'  {ids[h.until_gone]} -. "holds" .-> {ids[h.protected]}' for h in graph.holds]
    return lines


def _group(graph: Graph, ids: dict[str, str], composite: str, depth: int) -> Iterator[str]:
    """Yield a composite and what it composed, as a box around them."""
    pad = "  " * depth
    yield f"{pad}{ids[composite]}{_box(graph, graph.nodes[composite])}"
    yield f'{pad}subgraph g{ids[composite]} ["composed by {_text(graph.nodes[composite].label)}"]'
    for child in graph.composed(composite):
        if graph.composed(child):
            yield from _group(graph, ids, child, depth + 1)
        else:
            yield f"{pad}  {ids[child]}{_box(graph, graph.nodes[child])}"
    yield f"{pad}end"


def _box(graph: Graph, node: Node) -> str:
    steps = [f"up {node.up}"] if node.up else []
    steps += [f"down {graph.down(node.id)}"] if node.ours else ["stays"]
    said = node.state or ", ".join(steps)
    return f'["{_text(node.label)}<br/>{_text(said)}"]'


def _text(text: str) -> str:
    """Escape what Mermaid would read as its own: names come from files and servers."""
    return "".join(c if c.isalnum() or c in " -_.,:()/" else f"#{ord(c)};" for c in text)

"""What holds for every tree of nodes, as assertions for any test."""

from mqttpub.codec.nodes import Decoded, Node
from mqttpub.spec.statements import statement


def assert_sound(decoded: Decoded) -> None:
    """Assert that the tree tiles the bytes and that every finding points into them."""
    assert_tiles(decoded)
    for node in every(decoded.root):
        assert_hull(node)
    for found in decoded.findings:
        assert 0 <= found.span.start <= found.span.stop <= len(decoded.data), found
        assert found.mask == 0 or found.span.length == 1, found
        assert found.statement == "" or statement(found.statement).severity == found.severity, found
        assert found.path.startswith(decoded.root.name), found
        assert found.message, found


def assert_tiles(decoded: Decoded) -> None:
    """Assert that the leaves cover every bit of the bytes exactly once, in the order of the wire."""
    covered = bytearray(len(decoded.data))
    last = (-1, 0)
    for leaf in decoded.root.leaves():
        start, stop = leaf.span
        if leaf.mask:
            assert stop == start + 1, leaf
            assert not covered[start] & leaf.mask, leaf
            covered[start] |= leaf.mask
        else:
            assert not any(covered[start:stop]), leaf
            covered[start:stop] = b"\xff" * leaf.span.length
        assert (start, -leaf.mask) >= last, leaf
        last = (start, -leaf.mask)
    assert covered == b"\xff" * len(decoded.data), decoded.root


def assert_hull(node: Node) -> None:
    """Assert that a node with children begins where they begin and ends where they end."""
    if node.children:
        assert node.span.start == node.children[0].span.start, (node, node.children)
        assert node.span.stop == node.children[-1].span.stop, (node, node.children)


def every(node: Node) -> list[Node]:
    """Return a node and all below it."""
    return [node, *(below for child in node.children for below in every(child))]

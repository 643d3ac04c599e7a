"""What holds for every tree of nodes, as assertions for any test; a law that holds for many cases, as one test."""

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from mqttpub.codec.tree import Decoded, Node
from mqttpub.spec.statements import statement


def for_each(cases: Iterable[Any], name: Callable[[Any], str] = str) -> Callable[[Callable[[Any], None]], Any]:
    """Return a decorator that makes one test of a check and its cases; the failure names every case that fails.

    A test of pytest's own for each of thousands of vectors costs ten times as much as the check.
    """
    known = tuple(cases)
    assert known

    def decorate(check: Callable[[Any], None]) -> Callable[[], None]:
        def test() -> None:
            failures = []
            for case in known:
                try:
                    check(case)
                except Exception as error:
                    error.add_note(f"in the case: {name(case)}")
                    failures.append(error)
            if failures:
                names = "".join(f"\n  {failure.__notes__[-1]}" for failure in failures)
                raise ExceptionGroup(f"{len(failures)} of {len(known)} cases fail{names}\n", failures)

        # Not functools.wraps: pytest would take the parameter of the check for a fixture.
        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


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


def steps(action: Callable[[], object]) -> int:
    """Return how many calls an action makes: work that no busy machine makes longer."""
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return made

"""The secret bytes of a packet: passwords, authentication data, and unreadable bytes that may hold them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache

from ...codec.tree import Decoded, Node
from ...spec.packets import WITH_SECRETS
from ...spec.properties import of_packet
from ...spec.versions import Direction, Version
from ...wire.cursor import Span

_EARLIEST = 14
"""The first byte of a CONNECT that can belong to its password."""


def hidden(decoded: Decoded) -> tuple[Span, ...]:
    """Return the bytes to mask, in order.

    Length prefixes are not secret. Bytes that could not be read count as secret where a secret was announced or is
    possible, so that a truncated or corrupt packet reveals nothing.
    """
    judge = _SecretFinder(decoded)
    spans = (judge.span(leaf, holder) for holder, leaf in _leaves(decoded.root))
    return tuple(span for span in spans if span.start < span.stop)


def may_hold_secret(data: bytes) -> bool:
    """Whether the bytes of a packet may hold a secret, which those of most packets cannot.

    Authentication Data is masked in packets that must not have it, too; its Property Identifier may be overlong.
    """
    return data[:1] != b"" and (data[0] >> 4 in WITH_SECRETS or b"\x16" in data or b"\x96" in data)


def without_secrets(data: bytes, version: Version, direction: Direction | None) -> bytes:
    """Return the bytes of a packet with an asterisk in place of each byte of a secret."""
    if not may_hold_secret(data):
        return data
    from ...codec.decode import decode  # loaded on use: `--capture` needs it only for packets that may hold a secret

    masked = bytearray(data)
    for start, stop in hidden(decode(data, version, direction=direction)):
        masked[start:stop] = b"*" * (stop - start)
    return bytes(masked)


def clipped(spans: Sequence[Span], start: int, stop: int) -> Iterator[Span]:
    """Yield the parts of the spans that lie in a range; the spans are in order and do not overlap."""
    at = bisect_right(spans, start, key=lambda span: span.stop)
    while at < len(spans) and spans[at].start < stop:
        yield Span(max(spans[at].start, start), min(spans[at].stop, stop))
        at += 1


def masked_hex(data: bytes, secret: Sequence[Span], start: int, stop: int) -> str:
    """Return the bytes of a range in hex, with two asterisks for each byte of the spans, which are as in `clipped`."""
    at, shown = start, []
    for first, last in clipped(secret, start, stop):
        shown += [data[at:first].hex(), "**" * (last - first)]
        at = last
    return "".join([*shown, data[at:stop].hex()])


def _leaves(node: Node, holder: Node | None = None) -> Iterator[tuple[Node | None, Node]]:
    """Yield every leaf with the property list or the property that contains it."""
    if node.kind in ("properties", "property"):
        holder = node
    if not node.children:
        yield holder, node
    for child in node.children:
        yield from _leaves(child, holder)


class _SecretFinder:
    def __init__(self, decoded: Decoded) -> None:
        secret = [field for field in decoded.type.layout if field.kind == "secret"] if decoded.type else []
        flags = [decoded.root.child(field.when) for field in secret if field.when]
        self.names = {field.key for field in secret}
        self.unsure = any(flag is None or flag.value for flag in flags)
        """Whether the packet announces a secret field, or ends before it could have."""
        self.rows = _secret_properties(decoded.name)

    def span(self, leaf: Node, holder: Node | None) -> Span:
        """Return the secret bytes of a leaf."""
        start, stop = leaf.span
        if leaf.kind == "secret":
            return Span(start + leaf.prefix, stop)
        return self.gap(leaf, holder) if leaf.kind == "gap" else Span(start, start)

    def gap(self, leaf: Node, holder: Node | None) -> Span:
        start, stop = leaf.span
        if leaf.name in self.names or (holder and holder.row and holder.row.secret):
            return Span(start + 2, stop)
        if holder:
            return leaf.span if self.rows.intersection(leaf.value) else Span(start, start)
        if self.unsure:
            return Span(max(start, _EARLIEST), stop)
        return leaf.span if leaf.name == "unread" and self.rows.intersection(leaf.value) else Span(start, start)


@cache
def _secret_properties(packet: str) -> frozenset[int]:
    """Return the identifiers of the secret properties of a packet, by its name."""
    return frozenset(row.id for row in of_packet(packet) if row.secret)

"""Ways to break Topic Names and Topic Filters."""

from collections.abc import Iterator

from mqttpub.spec.versions import Direction, Version
from tests.lint.breaking import Draft, Labels, Subject, way
from tests.lint.packet_parts import Piece

WILDCARD = {
    "topic": Labels("3.3.2-2", "3.3.2-2", "3.3/wildcard"),
    "will.topic": Labels("4.7.0-1", "4.7.1-1", "A/wildcard-name"),
    "response_topic.value": Labels("3.3.2-14"),
}
"""What says that a name has no wildcards."""
EMPTY_NAME = Labels("3.3.2.1/empty", "4.7.3-1", "A/empty")
EMPTY = Labels("4.7.3-1", "4.7.3-1", "A/empty")
DOLLAR = Labels("4.7.2/dollar", "4.7.2/dollar")
LONG = Labels(v31="2.2/topic-length")
HASH = Labels("4.7.1-1", "4.7.1-2", "A/hash")
PLUS = Labels("4.7.1-2", "4.7.1-3", "A/plus")
NO_SHARE = Labels("4.8.2-1")
BAD_SHARE = Labels("4.8.2-2")
FILTERS = ("subscriptions.filter", "filters")


@way("a wildcard in a Topic Name", *WILDCARD.values())
def wildcard(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(*WILDCARD):
        for bad in "+#":
            at = packet.random.randint(0, len(piece.text))
            before = piece.text[:at].encode()
            inside = before + bad.encode() + piece.text[at:].encode()
            yield from packet.put(piece, inside, WILDCARD[piece.key], (len(before), len(before) + 1))


@way("an empty Topic Name", EMPTY_NAME, EMPTY)
def empty_name(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of("will.topic", "response_topic.value"):
        yield from packet.put(piece, b"", EMPTY)
    if packet.name == "PUBLISH" and not packet.carries("topic_alias"):
        yield from packet.put(packet.pieces["topic"], b"", EMPTY_NAME)


@way("an empty Topic Filter", EMPTY)
def empty_filter(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(*FILTERS):
        yield from packet.put(piece, b"", EMPTY)


@way("a client's message to a topic that begins with $", DOLLAR)
def dollar(packet: Subject) -> Iterator[Draft]:
    if packet.name == "PUBLISH" and packet.direction is Direction.CLIENT:
        topic = packet.pieces["topic"]
        yield from packet.put(topic, b"$" + topic.text.encode(), DOLLAR, (0, 1))
        yield from packet.put(topic, b"$SYS/broker", DOLLAR, (0, 1))


@way("a topic of more than 32,767 characters in 3.1", LONG)
def long_topic(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of("topic", "will.topic", *FILTERS):
        for size in (32_768, 65_535):
            yield from packet.put(piece, b"x" * size, LONG, "inside")


def _levels(packet: Subject) -> Iterator[tuple[Piece, str]]:
    """Yield every filter, and something that can stand in front of it."""
    for piece in packet.of(*FILTERS):
        for before in ("", "/", "a/", "+/b/", "é/\U0001f600/", "$SYS/"):
            yield piece, before
        if packet.version == Version.V5 and not _no_local(packet, piece):
            yield piece, "$share/g/"
            yield piece, "$share/g/a/"


def _no_local(packet: Subject, filter: Piece) -> bool:
    """Whether No Local is set for a filter, so that it must not become a shared one."""
    options = packet.at(filter.name.replace("filter", "subscription_options"))
    return bool(options and isinstance(options.inside, bytes) and options.inside[0] & 4)


def _filter(packet: Subject, piece: Piece, before: str, bad: str, after: str, labels: Labels) -> Iterator[Draft]:
    at = len(before.encode())
    return packet.put(piece, (before + bad + after).encode(), labels, (at, at + len(bad.encode())))


@way("a # that is not a last level", HASH)
def hash(packet: Subject) -> Iterator[Draft]:
    for piece, level in _levels(packet):
        for before, after in (("x", ""), ("", "/"), ("", "x"), ("", "/x"), ("x", "/"), ("", "#"), ("é", "")):
            yield from _filter(packet, piece, level + before, "#", after, HASH)


@way("a + that is not a level", PLUS)
def plus(packet: Subject) -> Iterator[Draft]:
    for piece, level in _levels(packet):
        for before, after in (("x", ""), ("", "x"), ("x", "/b"), ("", "x/+/#"), ("x", "x"), ("", "+"), ("é", "/#")):
            yield from _filter(packet, piece, level + before, "+", after, PLUS)


@way("a shared subscription without a ShareName", NO_SHARE)
def no_share_name(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(*FILTERS):
        if not _no_local(packet, piece):
            for text in ("$share/", "$share//", "$share//a", "$share//+/#"):
                yield from packet.put(piece, text.encode(), NO_SHARE, "inside")


@way("a shared subscription without a Topic Filter", BAD_SHARE)
def no_shared_filter(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(*FILTERS):
        if not _no_local(packet, piece):
            for text in ("$share/g", "$share/g/", "$share/é", "$share/$share"):
                yield from packet.put(piece, text.encode(), BAD_SHARE, "inside")


SHARES = (("", "+", "/a"), ("", "#", "/a"), ("g", "+", "h/a/#"), ("é", "#", "/+"), ("", "#", ""))


@way("a wildcard in a ShareName", BAD_SHARE)
def share_wildcard(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(*FILTERS):
        if not _no_local(packet, piece):
            for before, bad, after in SHARES:
                yield from _filter(packet, piece, f"$share/{before}", bad, after, BAD_SHARE)

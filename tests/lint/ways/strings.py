"""Ways to break strings, by putting bad bytes between two characters of them."""

from collections.abc import Iterator

from mqttpub.spec.versions import Version
from mqttpub.wire.types import STRING
from tests.lint.breaking import Draft, Labels, Subject, way
from tests.lint.packet_parts import Piece

MALFORMED = {
    "topic": Labels("3.3.2-1", "3.3.2-1", "3.3/topic"),
    "will.topic": Labels("3.1.3-11", "3.1.3-10", "3.1/will-topic"),
    "client_id": Labels("3.1.3-4", "3.1.3-4", "2.5/string"),
    "username": Labels("3.1.3-12", "3.1.3-11", "2.5/string"),
    "subscriptions.filter": Labels("3.8.3-1", "3.8.3-1", "3.8/pairs"),
    "filters": Labels("3.10.3-1", "3.10.3-1", "3.10/strings"),
    "response_topic.value": Labels("3.3.2-13"),
    "content_type.value": Labels("3.3.2-19"),
    "user_property.value": Labels("1.5.7-1"),
}
"""What says that a string is well-formed; `ANY_STRING` for those that have no statement of their own."""
ANY_STRING = Labels("1.5.4-1")
JAVA = Labels(v31="2.5/java")
TOPICS = ("topic", "will.topic", "subscriptions.filter", "filters", "response_topic.value")
TOPIC_NULL = Labels("4.7.3-2", "4.7.3-2", "A/null")
NULL = Labels("1.5.4-2", "1.5.3-2")
CONTROL = Labels("1.5.4/control", "1.5.3/control")

NEVER = (b"\xff", b"\xfe", b"\xc1\xbf", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80")
CUT = (b"\x80", b"\xbf", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98")
OVERLONG = (b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xc0\xaf")
OVERLONG_NULL = (b"\xc0\x80", b"\xc0\x80\xc0\x80")
BEYOND = (b"\xf4\x90\x80\x80", b"\xf7\xbf\xbf\xbf")
SURROGATES = (b"\xed\xa0\x80", b"\xed\xaf\xbf", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80")
CONTROLS = "\x01\x09\x0a\x1b\x1f\x7f\x80\x85\x9f\ufdd0\ufdef\ufffe\uffff\U0001fffe\U0010ffff"

ROOM = {"client_id": 23 - 9, "username": 12 - 9}
"""Characters that these may have in 3.1, so that a few more bytes make them no longer than they may be."""


def strings(packet: Subject) -> Iterator[Piece]:
    """Yield the strings of a packet but the protocol name, whose bytes are prescribed."""
    for piece in packet.pieces.values():
        if piece.type is STRING and piece.key != "protocol_name":
            room = ROOM.get(piece.key) if packet.version == Version.V31 else None
            if room is None or len(piece.text) <= room:
                yield piece


def gaps(piece: Piece) -> list[int]:
    """Return the places between characters, but not beside a wildcard, which more characters would break as well."""
    text = f" {piece.text} "
    return [at for at in range(len(text) - 1) if not set(text[at : at + 2]) & {"+", "#"}]


def inserted(packet: Subject, piece: Piece, bad: bytes, labels: Labels) -> Iterator[Draft]:
    """Yield the draft with more bytes somewhere in a string."""
    if places := gaps(piece):
        at = packet.random.choice(places)
        before, after = piece.text[:at].encode(), piece.text[at:].encode()
        yield from packet.put(piece, before + bad + after, labels, (len(before), len(before) + len(bad)))


def _but_java(labels: Labels) -> Labels:
    return labels._replace(v31=JAVA.v31)


def _malformed(name: str, choices: tuple[bytes, ...], *, java: bool = False) -> None:
    """Declare the way to put bytes that are not UTF-8 into every string; `java` says that Java writes them."""
    labels = {key: _but_java(each) if java else each for key, each in MALFORMED.items()}

    @way(name, *labels.values(), ANY_STRING)
    def malformed(packet: Subject) -> Iterator[Draft]:
        for piece in strings(packet):
            own = labels.get(piece.key, _but_java(ANY_STRING) if java else ANY_STRING)
            for bad in choices:
                yield from inserted(packet, piece, bad, own)


_malformed("bytes that UTF-8 never has", NEVER)
_malformed("a part of a character", CUT)
_malformed("an overlong character", OVERLONG)
_malformed("a character above U+10FFFF", BEYOND)
_malformed("U+0000 in two bytes", OVERLONG_NULL, java=True)
_malformed("a surrogate", SURROGATES, java=True)


@way("U+0000", TOPIC_NULL, NULL)
def null(packet: Subject) -> Iterator[Draft]:
    for piece in strings(packet):
        yield from inserted(packet, piece, b"\0", TOPIC_NULL if piece.key in TOPICS else NULL)


@way("a control character or non-character", CONTROL)
def control(packet: Subject) -> Iterator[Draft]:
    for piece in strings(packet):
        for character in CONTROLS:
            yield from inserted(packet, piece, character.encode(), CONTROL)

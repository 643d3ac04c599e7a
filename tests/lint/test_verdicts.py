"""Valid packets and packets that are broken in one way: each verdict names the statement and the byte.

The ways to break a packet are in `ways`; what they expect is written from the text of the specification.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.framing import frame_length
from mqttpub.codec.tree import Decoded, Finding
from mqttpub.lint.connection import Conversation
from mqttpub.lint.judge import Judge
from mqttpub.lint.packet.check import lint
from mqttpub.lint.packet.fast import is_clean
from mqttpub.spec.packets import Connect
from mqttpub.spec.statements import statements
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, PacketSeen
from mqttpub.wire.cursor import Overlong, Span
from tests.lint import ways as ways
from tests.lint.breaking import WAYS, Mark, Subject, amiss, broken, subjects
from tests.lint.packet.test_check import NOT_ON_ONE_PACKET
from tests.lint.packet_parts import pieces_of, write
from tests.strategies import packets, senders

HINTS = {
    "MQTT5-2.2.1-2": "properties that cannot be read may be a Packet Identifier that should not be there",
    "MQTT31-3.1/twelve": "valid, but longer than recommended",
    "MQTT31-2.2/user-flag": "valid, for the sake of clients of an older version",
    "MQTT31-2.2/password-flag": "valid, for the sake of clients of an older version",
}
"""Notes that may stand beside any verdict, on valid packets too; where a way makes one of them it must be there."""


class Verdicts:
    """What was found in many packets, and where that was wrong."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.valid = 0
        self.broken: Counter[str] = Counter()
        """Packets by the way in which they are broken."""
        self.stated: defaultdict[str, set[str]] = defaultdict(set)
        """The statements that each way broke."""
        self.wrong: list[str] = []

    def take(self, subject: Subject, most: int, *, every: bool = False) -> None:
        """Judge a valid packet, and what becomes of it by every way, in at most so many places by each."""
        self.valid += 1
        self.judge("valid", subject.data, subject.direction, ())
        for way, made in broken(subject, most, every=every):
            self.broken[way.name] += 1
            self.stated[way.name].update(chain.from_iterable(mark.ids for mark in made.marks))
            self.judge(way.name, made.data, made.direction, made.marks)

    def judge(self, name: str, data: bytes, direction: Direction, marks: tuple[Mark, ...]) -> None:
        """Look at a packet in every way there is."""
        decoded = decode(data, self.version, direction=direction)
        found = lint(decoded, direction)
        faults = [*amiss(found, marks, HINTS), *unsound(decoded, found), *otherwise_judged(decoded, found)]
        self.wrong.extend(f"{name}: {direction.value} {data[:200].hex()}: {fault}" for fault in faults)


def unsound(decoded: Decoded, found: list[Finding]) -> Iterator[str]:
    """Yield a word if `is_clean` accepts a packet that has a fault."""
    packet = decoded.packet
    if packet and not decoded.findings and is_clean(packet, decoded.version, decoded.direction):
        yield from (f"is called clean, but {each!r}" for each in found if each.severity != "note")


def otherwise_judged(decoded: Decoded, found: list[Finding]) -> Iterator[str]:
    """Yield a word where the judge of captures, who gets whole packets, finds something else."""
    try:
        if frame_length(decoded.data) != len(decoded.data):
            return
    except Overlong:
        return
    version, direction = decoded.version, decoded.direction
    _, by_judge = Judge().packet(PacketSeen(Endpoints(1, "", ""), None, 0, decoded.data, 0, direction, version, False))
    together = Conversation(version, complete=isinstance(decoded.packet, Connect)).packet(decoded)
    if sorted(map(repr, by_judge)) != sorted(map(repr, [*found, *together])):
        yield f"is judged otherwise: {by_judge}"


def assert_right(verdicts: Verdicts) -> None:
    """Assert that nothing was wrong, and show the first of what was."""
    assert not verdicts.wrong, f"{len(verdicts.wrong)} wrong verdicts, such as\n" + "\n".join(verdicts.wrong[:20])


def labelled(version: Version) -> str:
    """Return what a test of a version is called."""
    return version.label


@pytest.mark.slow
@pytest.mark.parametrize("version", Version, ids=labelled)
def test_a_few_hundred_verdicts(version: Version) -> None:
    verdicts = Verdicts(version)
    for subject in subjects(version, 1):
        verdicts.take(subject, 1)
    assert_right(verdicts)
    assert sum(verdicts.broken.values()) > 300


@pytest.mark.long
@pytest.mark.parametrize("version", Version, ids=labelled)
def test_five_thousand_verdicts_and_more(version: Version) -> None:
    verdicts = Verdicts(version)
    for subject in subjects(version, 1):
        verdicts.take(subject, 16, every=subject.direction is senders(type(subject.packet), version)[0])
    for subject in subjects(version, 12):
        verdicts.take(subject, 2)
    for subject in subjects(version, 60):
        verdicts.take(subject, 0)
    assert_right(verdicts)
    assert sum(verdicts.broken.values()) >= 5000
    assert verdicts.valid >= 500
    assert {way.name: way.ids(version) ^ verdicts.stated[way.name] for way in WAYS} == {way.name: set() for way in WAYS}


# what there is to break


HALF_SEEN = {
    "MQTT5-2.2.1-3": "that the identifier is not 0 shows in one packet, that it is free does not",
    "MQTT5-2.2.1-4": "that the identifier is not 0 shows in one packet, that it is free does not",
}
"""Statements that one packet can break, although they are of class B."""


def ways_of(version: Version) -> dict[str, list[str]]:
    """Return the ways in which packets break each statement."""
    made: dict[str, list[str]] = {}
    for way in WAYS:
        for id in way.ids(version):
            made.setdefault(id, []).append(way.name)
    return made


@pytest.mark.parametrize("version", Version, ids=labelled)
def test_every_statement_about_one_packet_has_a_violation_or_a_reason(version: Version) -> None:
    about = {each.id for each in statements(version.label) if each.visibility in ("A", "A~")}
    spared = {id for id in NOT_ON_ONE_PACKET if id.startswith(f"{version.prefix}-")}
    assert about - set(ways_of(version)) == spared
    assert set(ways_of(version)) - about == (set(HALF_SEEN) if version == Version.V5 else set())


def test_every_way_has_a_name_of_its_own() -> None:
    assert len({way.name for way in WAYS}) == len(WAYS)


@pytest.mark.slow
@given(st.data(), st.sampled_from(Version))
def test_a_packet_in_pieces_is_the_packet(data: st.DataObject, version: Version) -> None:
    packet = data.draw(packets(version))
    assert write(pieces_of(packet, version)) == encode(packet, version)


# what the verdicts are measured with


FOUND = Finding("error", "publish.topic", Span(4, 5), "", "MQTT5-3.3.2-2", mask=0)


@pytest.mark.parametrize(
    ("marks", "wrong"),
    [
        ((Mark(("MQTT5-3.3.2-2",), Span(4, 5)),), 0),
        ((Mark(("MQTT5-4.7.0-1", "MQTT5-3.3.2-2"), Span(4, 5)),), 0),
        ((), 1),
        ((Mark(("MQTT5-3.3.2-1",), Span(4, 5)),), 2),
        ((Mark(("MQTT5-3.3.2-2",), Span(4, 6)),), 2),
        ((Mark(("MQTT5-3.3.2-2",), Span(4, 5), 1),), 2),
        ((Mark(("MQTT5-3.3.2-2",), Span(4, 5)), Mark(("MQTT5-3.3.2-2",), Span(4, 5))), 1),
    ],
)
def test_a_verdict_is_wrong_in_every_respect_that_differs(marks: tuple[Mark, ...], wrong: int) -> None:
    assert len(amiss([FOUND], marks)) == wrong


def test_a_hint_is_required_where_it_is_meant_and_never_counts_as_wrong() -> None:
    assert amiss([FOUND], (), {"MQTT5-3.3.2-2"}) == []
    assert len(amiss([], (Mark(("MQTT5-3.3.2-2",), Span(4, 5)),), {"MQTT5-3.3.2-2"})) == 1

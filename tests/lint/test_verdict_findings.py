"""Packets whose findings were once wrong, found by the broken packets of `test_verdicts`."""

import pytest

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.lint.judge import Judge
from mqttpub.lint.packet.check import lint
from mqttpub.lint.packet.fast import is_clean
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, PacketSeen
from tests.lint.marked_packets import assert_no_fault, assert_one_fault, case, rows, table_test

FAULTS = rows("""
    # 5.0             3.1.1         3.1           sender and bytes

    # SUBACK without a message ID was called a field cut short
    .                 .             2.4/present   -  90 r {}

    # all of a ShareName was marked, where one character of it is wrong
    4.8.2-2           .             .             -  82 r 0001 p() s('$share/a' {'+'} 'b/c') 00
    4.8.2-2           .             .             -  82 r 0001 p() s('$share/' {'#'}) 00
    4.8.2-2           .             .             -  a2 r 0001 p() s('$share/' c3a9 {'+'} '#/a')

    # where a property is cut in half, what follows was read as if that were not so
    2.2.2.1/short     .             .             -  10 r @ 06 003c 03 11 {0000} 0000 s'a' 00 s't' s'm'
    2.2.2.1/short     .             .             -  10 r @ 06 003c 03 15 {0005} 'm' s'' p() s'' s''
    2.2.2.1/short     .             .             -  10 r @ 06 003c 04 26 s'n' {} s'' p() s'a' p() s'' s''
    2.2.2.1/short     .             .             -  90 r 0001 02 1f {00} 05 'error' 00

    # behind a Property Length that leaves the packet, the payload was read as properties
    2.2.2.1/short     .             .             -  32 r s'a' 0001 {20} 01 00 23 0000 '1'
    2.2.2.1/short     .             .             -  32 r s'a' 0001 {20} 01 00 01 02
    2.2.2.1/short     .             .             -  32 r s'a' 0001 {20} 01 00 0b 8000

    # properties behind one that is unknown were taken for missing
    2.2.2.2/unknown   .             .             -  f0 r 18 p({6f} 15 s'm')
    2.2.2.2/unknown   .             .             -  10 r @ 02 003c p(16 s'd' {6f} 15 s'm') s'a'
    2.2.2.2/unknown   .             .             -  30 r s'' p({6f} 23 0001)

    # half a character at the end of what there is of a payload
    2.1.4/short       .             .             -  30 {0b} s'a' p(01 01) 'caf' c3

    # the payload of the will was judged by a property of CONNECT, which has no such property
    2.2.2.2/not-allowed .           .             -  10 r @ 06 003c p({01 01}) s'a' p() s't' s(ff)
""")

NEAR = rows("""
    4.8.2-2           .             .             -  82 r 0001 p() s'$share/ab/+/#' 00
    3.15.2.2.2/method .             .             -  f0 r 18 p(26 s'' s'' 15 s'm')
    3.3.2.3.2/utf8    .             .             -  10 r @ 06 003c p() s'a' p(01 00) s't' s(ff)
""")


test_what_is_marked_is_the_only_finding = table_test(FAULTS, assert_one_fault)
test_a_near_miss_has_no_finding = table_test(NEAR, assert_no_fault)


def test_after_a_property_cut_in_half_the_decoder_reports_nothing_more() -> None:
    data = case("10 r @ 06 003c 03 15 0005 'm' 0009 'a' 00", Version.V5).data
    assert [each.path for each in decode(data).findings] == ["connect.properties.authentication_method"]


def test_a_stray_packet_identifier_makes_two_findings_and_no_more() -> None:
    """The payload after it is not a property list."""
    data = case("30 r s'a' 4401 p(02 00000001) 02 00000002 01 07", Version.V5).data
    found = [(each.statement, each.span) for each in lint(decode(data))]
    assert sorted(found) == [("MQTT5-2.2.1-2", (5, 7)), ("MQTT5-2.2.2.1/short", (5, 6))]


QUICKLY = [
    ("2.1.3-1", "{48}&0f r 0001", Direction.CLIENT),
    ("2.1.3-1", "{51}&0f r 0001", Direction.SERVER),
    ("3.6.1-1", "{60}&0f r 0001", Direction.SERVER),
    ("4.7.2/dollar", "30 r s({'$'} 'SYS') p()", Direction.CLIENT),
    ("3.3.2.3.2/utf8", "30 r s'a' p(01 01) {ff}", Direction.SERVER),
]
"""What the quick look of the judge did not see."""


@pytest.mark.parametrize(("label", "text", "direction"), QUICKLY, ids=str)
def test_the_judge_says_what_lint_says(label: str, text: str, direction: Direction) -> None:
    made = case(text, Version.V5)
    event = PacketSeen(Endpoints(1, "", ""), None, 0, made.data, 0, direction, Version.V5, False)
    _, found = Judge().packet(event)
    assert [(each.statement, each.span, each.mask) for each in found] == [(f"MQTT5-{label}", *made.marks[0])]


def test_a_topic_that_is_clean_from_the_server_is_reported_from_the_client() -> None:
    data = case("30 r s'$SYS' p()", Version.V5).data
    judge = Judge()
    said = {
        direction: len(
            judge.packet(PacketSeen(Endpoints(1, "", ""), None, 0, data, 0, direction, Version.V5, False))[1]
        )
        for direction in (Direction.SERVER, Direction.CLIENT)
    }
    assert said == {Direction.SERVER: 0, Direction.CLIENT: 1}


@pytest.mark.parametrize("text", ["30 r s'$SYS' p()", "30 r s'a' p(01 01) ff", "30 r s'a' p(01 01) 'a' c0"])
def test_a_packet_with_a_warning_is_not_sound(text: str) -> None:
    packet = decode_packet(case(text, Version.V5).data, Version.V5)
    assert isinstance(packet, Publish)
    assert not is_clean(packet, Version.V5, Direction.CLIENT)

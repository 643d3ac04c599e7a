"""Rules across the fields of a packet."""

import pytest

from mqttpub.codec.decode import decode
from mqttpub.lint.packet.check import lint
from mqttpub.lint.packet.rules import rule_findings
from mqttpub.lint.packet.view import PacketView
from mqttpub.spec.versions import Version
from tests.lint.marked_packets import Row, assert_no_fault, assert_one_fault, rows, table_test

FAULTS = rows("""
    # 5.0            3.1.1            3.1                sender and bytes

    # who may send it
    2.1.2/direction  2.2.1/direction  2.1/direction      <  {10}&f0 r @ 02 003c p() s'a'
    2.1.2/direction  2.2.1/direction  2.1/direction      >  {20}&f0 r 0000 p()
    2.1.2/direction  2.2.1/direction  2.1/direction      <  {82}&f0 r 0001 p() s'a' 00
    2.1.2/direction  2.2.1/direction  2.1/direction      >  {90}&f0 r 0001 p() 00
    2.1.2/direction  2.2.1/direction  2.1/direction      <  {a2}&f0 r 0001 p() s'a'
    2.1.2/direction  2.2.1/direction  2.1/direction      >  {b0}&f0 r 0001 p() v5(00)
    2.1.2/direction  2.2.1/direction  2.1/direction      <  {c0}&f0 00
    2.1.2/direction  2.2.1/direction  2.1/direction      >  {d0}&f0 00
    .                2.2.1/direction  2.1/direction      <  {e0}&f0 00
    3.14.2-1         .                .                  >  e0 r {8b}
    3.14.2-1         .                .                  <  e0 r {04}
    3.15.2-1         .                .                  <  f0 r {19} p(15 s'm')
    3.15.2-1         .                .                  >  f0 r {00} p(15 s'm')
    3.15.2-1         .                .                  >  f0 {00}
    3.4.2-1          .                .                  >  40 r 0001 {10}
    3.5.2-1          .                .                  >  50 r 0001 {10}
    3.14.2-2         .                .                  <  e0 r 00 p({11 00000000})
    3.3.4-6          .                .                  >  30 r s'a' p({0b 01})
    3.3.4-6          .                .                  >  30 r s'a' p({0b 01} {0b 02})
    4.7.2/dollar     4.7.2/dollar     .                  >  30 r s({'$'} 'SYS') p()

    # DUP, QoS and RETAIN before 3.1.1
    .                .                2.1/dup-where      -  {18}&08 r @ 02 003c s'a'
    .                .                2.1/dup-where      -  {48}&08 r 0001
    .                .                2.6/header         -  {44}&06 r 0001
    .                .                2.6/header         -  {e2}&06 00
    .                .                2.1/retain-where   -  {21}&01 r 0000

    # CONNECT
    .                3.1.2.2/level    .                  -  10 r s'MQTT' {84} 02 003c s'a'
    .                .                2.2/version        -  10 r s'MQIsdp' {83} 02 003c s'a'
    3.1.2-11         3.1.2-13         2.2/will-unused    -  10 r @ {0a}&18 003c p() s'a'
    3.1.2-11         3.1.2-13         2.2/will-unused    -  10 r @ {1a}&18 003c p() s'a'
    3.1.2-13         3.1.2-15         2.2/will-unused    -  10 r @ {22}&20 003c p() s'a'
    .                3.1.2-22         2.2/password-alone -  10 r @ {42}&40 003c s'a' s'p'
    .                .                2.2/user-flag      -  10 r @ {82}&80 003c s'a'
    .                .                2.2/password-flag  -  10 r @ {c2}&40 003c s'a' s'u'
    .                .                3.1/twelve         -  10 r @ 82 003c s'a' s({'u'*13})
    .                .                3.1/twelve         -  10 r @ c2 003c s'a' s'u' s({'p'*13})
    .                3.1.3-7          .                  -  10 r @ 00 003c {s''}
    3.1.2.11.10/method .              .                  -  10 r @ 02 003c p({16 s'd'}) s'a'

    # CONNACK, DISCONNECT, AUTH
    3.1.2.11.10/method .              .                  -  20 r 0000 p({16 s'd'})
    3.2.2-6          3.2.2-4          .                  -  20 r {01}&01 v5(80) v3(05) p()
    4.11/server-reference .           .                  -  20 r 0088 p({1c s'b'})
    4.11/server-reference .           .                  -  e0 r 00 p({1c s'b'})
    3.15.2.2.2/method .               .                  -  f0 r 18 {00}
    3.15.2.2.2/method .               .                  -  f0 r 18 {05 1f 0002 'no'}
    3.15.2.2.2/method .               .                  -  f0 r {18}

    # PUBLISH
    3.3.1-2          3.3.1-2          3.3/dup-qos0       -  {38}&08 r s'a' p()
    3.3.2.1/empty    .                .                  -  30 r {s''} p(01 00)
    3.3.2.3.2/utf8   .                .                  -  30 r s'a' p(01 01) 'a' {ff} 'b'
    3.3.2.3.2/utf8   .                .                  -  10 r @ 06 003c p() s'a' p(01 01) s't' s('a' {eda080})

    # SUBSCRIBE
    3.8.3-4          .                .                  -  82 r 0001 p() s'a' 00 s'$share/g/a' {04}&04
""")

NEAR = rows("""
    2.1.2/direction  2.2.1/direction  2.1/direction      >  c0 00
    2.1.2/direction  2.2.1/direction  2.1/direction      -  d0 00
    2.1.2/direction  .                .                  <  e0 00
    3.14.2-1         .                .                  <  e0 r 8b
    3.14.2-1         .                .                  -  e0 r 04
    3.15.2-1         .                .                  <  f0 r 18 p(15 s'm')
    3.15.2-1         .                .                  <  f0 00
    3.14.2-1         .                .                  <  e0 00
    3.4.2-1          .                .                  >  40 r 0001 87
    3.4.2-1          .                .                  <  40 r 0001 10
    3.5.2-1          .                .                  <  50 r 0001 10
    3.14.2-2         .                .                  >  e0 r 00 p(11 00000000)
    3.3.4-6          .                .                  <  30 r s'a' p(0b 01 0b 02)
    4.7.2/dollar     4.7.2/dollar     .                  <  30 r s'$SYS' p()
    4.7.2/dollar     4.7.2/dollar     .                  >  30 r s'a$' p()
    .                .                2.1/dup-where      -  6a r 0001
    .                .                2.6/header,2.1/retain-where -  c0 00
    .                3.1.2.2/level    .                  -  10 r s'MQTT' 04 02 003c s'a'
    .                .                2.2/version        -  10 r s'MQIsdp' 03 02 003c s'a'
    3.1.2-11,3.1.2-13 3.1.2-13,3.1.2-15 2.2/will-unused  -  10 r @ 36 003c p() s'a' p() s't' s''
    .                3.1.2-22         2.2/password-alone -  10 r @ c2 003c s'a' s'u' s'p'
    .                .                2.2/user-flag,2.2/password-flag -  10 r @ c2 003c s'a' s'' s''
    .                .                3.1/twelve         -  10 r @ c2 003c s'a' s('u'*12) s('p'*12)
    .                3.1.3-7          .                  -  10 r @ 02 003c s''
    .                3.1.3-7          .                  -  10 r @ 00 003c s'a'
    3.1.2.11.10/method .              .                  -  10 r @ 02 003c p(16 s'd' 15 s'm') s'a'
    3.1.2.11.10/method .              .                  -  20 r 0000 p(16 s'd' 15 s'm')
    3.2.2-6          3.2.2-4          .                  -  20 r 0100 p()
    3.2.2-6          3.2.2-4          .                  -  20 r 00 v5(80) v3(05) p()
    4.11/server-reference .           .                  -  20 r 009d p(1c s'b')
    4.11/server-reference .           .                  -  e0 r 9c p(1c s'b')
    3.15.2.2.2/method .               .                  -  f0 00
    3.15.2.2.2/method .               .                  -  f0 r 18 p(15 s'')
    3.3.1-2          3.3.1-2          3.3/dup-qos0       -  3a r s'a' 0001 p()
    3.3.2.1/empty    .                .                  -  30 r s'' p(23 0001)
    3.3.2.3.2/utf8   .                .                  -  30 r s'a' p(01 01) 'a' c3a9 00
    3.3.2.3.2/utf8   .                .                  -  30 r s'a' p(01 01)
    3.3.2.3.2/utf8   .                .                  -  30 r s'a' p(01 00) ff
    3.3.2.3.2/utf8   .                .                  -  10 r @ 06 003c p() s'a' p(01 01) s't' s''
    3.8.3-4          .                .                  -  82 r 0001 p() s'$share/g/a' 00 s'$share' 04 s'a' 04
    2.2.1-2          .                .                  -  30 r s'a' p() 000a 00
""")


test_what_is_marked_is_the_only_finding = table_test(FAULTS, assert_one_fault)
test_a_near_miss_has_no_finding = table_test(NEAR, assert_no_fault)


def of_row(text: str, version: Version = Version.V5) -> list[tuple[str, str]]:
    """Return what lint finds, as severities and messages."""
    return [(each.severity, each.message) for each in Row((), version, None, text).found()]


def test_a_stray_packet_identifier_is_hinted_at_beside_the_error() -> None:
    row = Row((), Version.V5, None, "30 r s'a' 0506 00 'hi'")
    error, hint = sorted(row.found(), key=lambda each: each.severity)
    assert (error.severity, error.statement) == ("error", "MQTT5-2.2.2.1/short")
    assert (hint.severity, hint.statement, hint.path) == ("note", "MQTT5-2.2.1-2", "publish.packet_id")
    assert hint.span == (5, 7)
    assert hint.message == "the packet is valid with Packet Identifier 1286 here, but QoS is 0"


@pytest.mark.parametrize(
    "text", ["30 r s'a' 05 01", "30 r s'a' 0905 09", "30 r s'a' 0302 0000", "30 r s'a' 7f", "32 r s'a' 0001 0506 00"]
)
def test_other_bytes_hint_at_nothing(text: str) -> None:
    assert "note" not in [severity for severity, _ in of_row(text)]


def test_a_bridge_is_a_warning_and_no_error() -> None:
    assert of_row("10 r s'MQTT' 84 02 003c s'a'", Version.V311) == [
        ("warning", "Protocol Level is 0x84, the mark of a bridge, but must be 4")
    ]


def test_every_old_flag_is_named_by_itself() -> None:
    assert of_row("4f r 0001", Version.V31) == [
        ("warning", "PUBACK has DUP 1, but must have 0"),
        ("warning", "PUBACK has QoS 3, but must have 0"),
        ("warning", "PUBACK has RETAIN 1, but must have 0"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("38 r s'a' p()", "DUP is 1, but QoS is 0"),
        ("10 r @ 1a 003c p() s'a'", "Will QoS is 3, but Will Flag is 0"),
        ("20 r 0187 p()", "Session Present is 1, but Reason Code is 0x87"),
        ("20 r 0000 p(1c s'b')", "CONNACK has a Server Reference, but Reason Code is 0x00, not 0x9c or 0x9d"),
        ("30 r s'' p()", "Topic Name is empty, but the packet has no Topic Alias"),
        (
            "30 r s'a' p(01 01) 'a' c3 'b'",
            "Payload holds c3, which is not UTF-8, but Payload Format Indicator is 1",
        ),
        (
            "82 r 0001 p() s'$share/g/a' 04",
            "No Local is 1, but the filter begins with $share/",
        ),
        ("f0 r 18 p()", "AUTH has no Authentication Method, but must have one"),
    ],
)
def test_a_rule_says_what_is_wrong_and_what_must_be(text: str, message: str) -> None:
    assert [told for _, told in of_row(text)] == [message]


def test_a_missing_field_is_not_reported_in_a_packet_that_was_cut_off() -> None:
    cut = ("10 r @ 02 003c p(16 s'd') 00", "f0 r 18 05 00", "32 r s'' 0001 05 00")
    assert [[each.statement for each in Row((), Version.V5, None, text).found()] for text in cut] == [
        ["MQTT5-2.1.4/short"], ["MQTT5-2.2.2.1/short"], ["MQTT5-2.2.2.1/short"],
    ]  # fmt: skip


def test_a_type_that_the_version_lacks_breaks_no_rule() -> None:
    assert list(rule_findings(PacketView(decode(b"\xf0\x00", Version.V311)))) == []
    assert len(lint(decode(b"\xf0\x00", Version.V311))) == 1

"""Text into steps: the grammar, and the place and the words of every error."""

from io import BytesIO

import pytest

from mqttpub.common.bad_text import BadText
from mqttpub.script.packets import StepContext, packet_bytes
from mqttpub.script.reader import LONGEST_LINE, read_line, read_script, script_lines
from mqttpub.script.signs import is_script
from mqttpub.script.steps import (
    EndStep,
    GapStep,
    MidStep,
    PacketStep,
    Sending,
    SilenceStep,
    Step,
    VersionStep,
    WaitStep,
)
from mqttpub.spec.versions import Direction, Version

C, S = Direction.CLIENT, Direction.SERVER


def sent(text: str, version: Version = Version.V5, **bindings: int | bytes) -> str:
    """Return the bytes of a step in hex."""
    (step,) = read_line(text)
    assert isinstance(step, PacketStep)
    return packet_bytes(step, StepContext(version, bindings, {})).hex(" ")


def shape(step: Step) -> tuple[object, ...]:
    """Return a step without its place."""
    return (type(step), *(value for name, value in step._asdict().items() if name != "word"))


# Bytes are counted out by hand from sections 2.2, 3.1 to 3.15 of the specification.
@pytest.mark.parametrize(
    ("text", "hex"),
    [
        ("> publish", "30 05 00 01 61 00 78"),
        ("> publish q1 i7 t=a/b p=hi", "32 0a 00 03 61 2f 62 00 07 00 68 69"),
        ("> publish q2 i=0x11c2 d1 r1 t=a p=", "3d 06 00 01 61 11 c2 00"),
        ('> publish t="a b" p="x\\n\\xff\\u20ac"', "30 0c 00 03 61 20 62 00 78 0a ff e2 82 ac"),
        ("> publish p=hex:00ff", "30 06 00 01 61 00 00 ff"),
        ("> publish p=base64:AP8=", "30 06 00 01 61 00 00 ff"),
        ("> publish p=text:hex:00", "30 0a 00 01 61 00 68 65 78 3a 30 30"),
        ('> publish p="hex:00"', "30 0a 00 01 61 00 68 65 78 3a 30 30"),
        ("> publish t=$SYS/# p=#", "30 0a 00 06 24 53 59 53 2f 23 00 23"),
        ("> publish topic_alias=5 user_property=a:b=c:d",
         "30 13 00 01 61 0e 23 00 05 26 00 01 61 00 05 62 3d 63 3a 64 78"),
        ('> publish user-property="a:b":c', "30 0e 00 01 61 09 26 00 03 61 3a 62 00 01 63 78"),
        ("< puback i7", "40 02 00 07"),
        ("< puback i7 c10", "40 03 00 07 10"),
        ("< puback i7 c=0x10 reason_string=n", "40 08 00 07 10 04 1f 00 01 6e"),
        ("< puback i7 reason_code=16", "40 03 00 07 10"),
        ("< puback i7 reason_string=n", "40 08 00 07 00 04 1f 00 01 6e"),
        ("< puback i7 c00 properties=", "40 04 00 07 00 00"),
        ("> subscribe i1 f=a/#:q1:rh2:rap:nl,b", "82 0d 00 01 00 00 03 61 2f 23 2d 00 01 62 00"),
        ('> subscribe i1 f="a,b:c":q1', "82 0b 00 01 00 00 05 61 2c 62 3a 63 01"),
        ("> subscribe i1 f=${x:a/b}:q1", "82 09 00 01 00 00 03 61 2f 62 01"),
        ("> subscribe i1 f=${x:a:b,c}:q1,b", "82 0f 00 01 00 00 05 61 3a 62 2c 63 01 00 01 62 00"),
        ("> publish p= user_property=${n:a:b}:v", "30 0d 00 01 61 09 26 00 03 61 3a 62 00 01 76"),
        ("> unsubscribe i1 f=a,b", "a2 09 00 01 00 00 01 61 00 01 62"),
        ("< suback i1 c01,80", "90 05 00 01 00 01 80"),
        ("> connect", "10 0e 00 04 4d 51 54 54 05 02 00 3c 00 00 01 63"),
        ("> connect id=x clean=0 ka=10 username=u password=p",
         "10 14 00 04 4d 51 54 54 05 c0 00 0a 00 00 01 78 00 01 75 00 01 70"),
        ("> connect will=q1r1", "10 14 00 04 4d 51 54 54 05 2e 00 3c 00 00 01 63 00 00 01 77 00 00"),
        ("> connect will.topic=t will.payload=p will.qos=2 will.will_delay_interval=5",
         "10 1a 00 04 4d 51 54 54 05 16 00 3c 00 00 01 63 05 18 00 00 00 05 00 01 74 00 01 70"),
        ("> connect username_flag=1", "10 0e 00 04 4d 51 54 54 05 82 00 3c 00 00 01 63"),
        ("< connack sp=1 c87", "20 03 01 87 00"),
        ("> raw 30 03 00", "30 03 00"),
        ("> 3003 00", "30 03 00"),
        ("> publish overlong", "30 85 00 00 01 61 00 78"),
        ("> publish length=9", "30 09 00 01 61 00 78"),
        ("> publish cut=2", "30 05 00 01 61"),
        ("> publish q3 i1", "36 07 00 01 61 00 01 00 78"),
        ("> disconnect", "e0 00"),
    ],
)  # fmt: skip
def test_a_packet_becomes_its_bytes(text: str, hex: str) -> None:
    assert sent(text) == hex


def test_variables_stand_for_numbers_and_for_text() -> None:
    assert sent("> puback i=$p", p=7) == "40 02 00 07"
    assert sent("> puback i$p", p=7) == "40 02 00 07"
    assert sent("> puback i=$p:9") == "40 02 00 09"
    assert sent("> publish t=${t}/b p=${n:x}", t=b"a") == "30 07 00 03 61 2f 62 00 78"
    with pytest.raises(BadText, match="column 10: the variable p has no value yet"):
        sent("> puback i=$p")


def test_lines_of_a_file_end_with_lf_or_crlf_alone_after_the_byte_order_mark() -> None:
    data = "\ufeff> pingreq\r\n# \u2028\x85\x0b\x0c\r#\n\n\ufeff".encode() + b"\xff"
    assert list(script_lines(BytesIO(data))) == ["> pingreq", "# \u2028\x85\x0b\x0c\r#", "", "\ufeff\udcff"]


def test_a_line_without_end_is_an_error_with_its_place() -> None:
    with pytest.raises(BadText, match=r"^line 2, column 1: the line has more than 67,108,864 bytes"):
        list(script_lines(BytesIO(b"\n" + b"#" * LONGEST_LINE + b"\n")))


def test_steps_that_are_not_packets() -> None:
    text = "mid; +20; +0.5s; +200ms; gap; client FIN; !server RST; end; > none 0.5; < none 2s; [a] @"
    read = [shape(step) for step in read_line(text)]
    assert read[:-2] == [
        (MidStep, ""), (WaitStep, "", 20 * 10**9), (WaitStep, "", 5 * 10**8), (WaitStep, "", 2 * 10**8), (GapStep, ""),
        (EndStep, "", False, C, "FIN"), (EndStep, "", True, S, "RST"), (EndStep, "", False, None, "end"),
        (SilenceStep, "", C, 5 * 10**8), (SilenceStep, "", S, 2 * 10**9),
    ]  # fmt: skip
    assert [(step[0], step[1]) for step in read[-2:]] == [(PacketStep, "a"), (PacketStep, "a")]


def test_marks_modifiers_labels_and_comments() -> None:
    lines = [
        "# a comment", "version 5.0 3.1.1 # both", "", "[b] @ !>publish twice slice=1 # more",
        "<? puback i1 within=2s", "<* pingresp; # nothing more",
    ]  # fmt: skip
    version, _, _, publish, puback, ping = read_script(lines)
    assert isinstance(version, VersionStep)
    assert version.versions == (Version.V5, Version.V311)
    assert isinstance(publish, PacketStep)
    assert (publish.label, publish.fault, publish.direction) == ("b", True, C)
    assert publish.sending == Sending(twice=True, slice_bytes=1)
    assert isinstance(puback, PacketStep)
    assert (puback.times, puback.within_ns, puback.word.line) == ("?", 2 * 10**9, 5)
    assert isinstance(ping, PacketStep)
    assert ping.times == "*"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("> publsh", 3, "'publsh' is not a packet; raw, hex or one of connect, connack, publish"),
        (">", 2, "a packet must follow: raw, connect"),
        ("publish", 1, "'publish' begins no step; a step begins with >, <"),
        ("> publish x=1", 11, "PUBLISH has no 'x'; its words are dup, qos"),
        ("> publish q", 11, "PUBLISH has no word 'q'"),
        ("> publish q=one", 13, "'one' is not a number"),
        ("> publish q1 q2", 14, "QoS stands twice"),
        ('> publish t="a', 13, "the quotation mark is not closed"),
        ('> publish t="\\q"', 14, "'q' cannot follow a backslash (a quotation mark, a backslash, $"),
        ("> publish t=${", 13, "'${' begins a variable"),
        ("> publish p=hex:0g", 18, "'g' is not a hex digit"),
        ("> publish p=hex:000", 19, "a single hex digit"),
        ("> publish p=base64:?", 20, "'?' is not base64"),
        ("> publish user_property=a", 25, "a name and a value need a colon"),
        ("> publish twice=1", 16, "twice takes no value"),
        ("> publish cut=", 15, "cut= needs a value"),
        ("> publish cut=x", 15, "'x' is not a number of bytes"),
        ("> publish slice=0", 17, "slice= needs 1 or more bytes"),
        ("> puback i1 c1", 14, "'1' is not a Reason Code in two hex digits"),
        ("> puback i1 c00,01", 14, "a single Reason Code must stand here"),
        ("> subscribe i1 f=a:q5", 20, "'q5' is not an option of a Topic Filter"),
        ("> connect will=2", 16, "'2' is not QoS and RETAIN of a will"),
        ("> connect will.x=2", 11, "a will has no 'x'"),
        ("> raw", 6, "bytes in hex must follow raw"),
        ("> raw 30 q1", 10, "'q' is not a hex digit"),
        ("> raw 30 cut=1 q1", 16, "'q1' cannot follow bytes"),
        ("> raw 3000 length=5", 12, "'length=5' cannot follow bytes (twice, cut, slice, within can)"),
        ("> 3000 overlong", 8, "'overlong' cannot follow bytes"),
        ("> publish cut=1 cut=2", 17, "cut stands twice"),
        ("< connack -topic", 12, "CONNACK has no property 'topic'"),
        ("> raw 30 twice twice", 16, "twice stands twice"),
        ("> publish cut=٣", 15, "'٣' is not a number of bytes"),
        ("version 5.0; > pingreq", 1, "version must be the only thing on its line"),
        ("> pingreq; version 5.0", 12, "version must be the only thing on its line"),
        ("> subscribe f=a:q4", 17, "'q4' is not an option of a Topic Filter (q0 to q3, rh0 to rh3, rap, nl)"),
        (f"> {'x' * 1000}", 3, f"'{'x' * 40}...' is not a packet"),
        (f"> publish p=base64:{'x' * 1001}", 20, f"'{'x' * 40}...' is not base64"),
        ("client", 7, "FIN or RST must follow client"),
        ("client BYE", 8, "FIN or RST must follow client"),
        ("+x", 2, "'x' is not a time"),
        ("+1 2", 4, "'2' is one word too many"),
        ("> none", 7, "a time must follow"),
        ("version 4", 9, "'4' is not a version"),
        ("version", 8, "a version must follow"),
        ("[a b] @", 1, "'[a' is not the label of a connection"),
    ],
)
def test_an_error_says_where_and_what_may_stand_there(text: str, column: int, message: str) -> None:
    with pytest.raises(BadText) as raised:
        list(read_script(["", text]))
    assert (raised.value.line, raised.value.column, raised.value.source) == (2, column, text)
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("> publish q1", 1, "PUBLISH needs i= (packet_id)"),
        ("> puback", 1, "PUBACK needs i= (packet_id)"),
        ("> publish q1 i=70000 t=a", 14, "Packet Identifier: 70000 does not fit"),
        ("> publish q4 i1", 11, "4 does not fit QoS"),
        ("> publish t=a topic_alias=70000", 15, "Topic Alias: 70000 does not fit"),
        ("> connect ka=1 will.qos=4", 16, "4 does not fit Will QoS"),
        ("> connect ka=1 will.will_delay_interval=4294967296", 16, "Will Delay Interval: 4294967296 does not fit"),
        (f"> subscribe i1 f=a,{'b' * 65536}", 16, "Topic Filter: 65536 bytes do not fit"),
        (f"> unsubscribe i1 f={'b' * 65536}", 18, "Topic Filter"),
        ("> puback i1 properties=", 1, "Properties needs Reason Code"),
        ("> pingreq cut=3", 15, "nothing is left of a packet of 2 bytes"),
        ("> raw 30 cut=1", 14, "nothing is left of a packet of 1 byte"),
        ("> publish d2", 11, "2 does not fit DUP"),
    ],
)
def test_a_packet_that_cannot_be_written_says_where(text: str, column: int, message: str) -> None:
    with pytest.raises(BadText) as raised:
        sent(text)
    assert raised.value.column == column
    assert raised.value.message.startswith(message)


def test_a_version_without_a_field_says_so() -> None:
    with pytest.raises(BadText, match=r"column 11: MQTT 3\.1\.1 has no properties"):
        sent("> publish topic_alias=1", Version.V311)
    with pytest.raises(BadText, match=r"PUBACK has no Reason Code in MQTT 3\.1\.1"):
        sent("> puback i1 c10", Version.V311)


@pytest.mark.parametrize(
    "text",
    [
        "> connect",
        "@",
        "[a] @",
        "# x\n\n!<publish",
        "> raw 30",
        "<? puback",
        "version 5.0",
        "mid > publish",
        "@ > publish",
        "[a] +20",
        "[a] +0.5s # a pause",
        "[a] client FIN; [b] @",
        "!server RST",
        "[a] !end",
        "mid gap",
        "mid",
        "[a] mid",
        "< none 2s",
        "\ufeff> pingreq",
        "# \u2028x\n> pingreq",
    ],
)
def test_a_script_is_recognized(text: str) -> None:
    assert is_script(text)


@pytest.mark.parametrize(
    "text",
    ["", "> 3000", "> CONNECT", "30 00", "PUBLISH  QoS 0", "> connected to broker", "version of today", "@home",
     "[12:00] > 30 00", "[a] > 3000", "mid > 30 00", "[a]", "+20", "+20 04 00", "end", "client FIN ACK",
     "[a] end of file", "# hex\n> 3000", "# nothing but comments\n", " \n\n", '{"type": "PUBLISH"}'],
)  # fmt: skip
def test_other_text_is_no_script(text: str) -> None:
    assert not is_script(text)

"""Format strings write what mosquitto_sub writes."""

import json
import re
import struct
import subprocess
from collections.abc import Iterator

import pytest

from mqttpub.cli.sub.format_string import FormatError, FormatString, mosquitto_record
from mqttpub.cli.sub.lines import shown
from mqttpub.live.net.target import Target
from mqttpub.live.publish.publisher import publish_all
from mqttpub.live.publish.sender import Publication
from mqttpub.live.receive import ReceivedMessage
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.properties import (
    CONTENT_TYPE,
    CORRELATION_DATA,
    PAYLOAD_FORMAT_INDICATOR,
    RESPONSE_TOPIC,
    SUBSCRIPTION_IDENTIFIER,
    USER_PROPERTY,
)
from mqttpub.spec.versions import Version

TOPIC = "format/ü"
PROPERTIES = (
    Property(PAYLOAD_FORMAT_INDICATOR.id, 1),
    Property(CONTENT_TYPE.id, "text/plain"),
    Property(RESPONSE_TOPIC.id, "r/1"),
    Property(CORRELATION_DATA.id, b"c1"),
    Property(USER_PROPERTY.id, ("k", "v")),
    Property(USER_PROPERTY.id, ("k", "w w")),
)
TEXT = b'{"a": [1, 2.50]}'
NOON_NS = 1_800_000_000_123_456_789


def message(payload: bytes = TEXT, *, topic: str = TOPIC, properties: tuple[Property, ...] = ()) -> ReceivedMessage:
    return ReceivedMessage(topic, payload, 1, True, False, 1, properties, NOON_NS)


@pytest.fixture(scope="module")
def retained(mosquitto: int) -> Iterator[int]:
    """Keep a message with a broker, and remove it again."""
    for payload in (TEXT, b""):
        packet = Publish(topic=TOPIC, payload=payload, qos=1, retain=True, properties=PROPERTIES if payload else ())
        publish_all(Target("127.0.0.1", mosquitto), [Publication.of(packet, Version.V5)])
        if payload:
            yield mosquitto


SAME = (
    "%t|%p|%q|%r|%l|%m|%A|%C|%D|%E|%F|%P|%R|%S|%x|%X|%%", "%20t|%-20t|%020t|%.3t|%10.3t|%-10.3t|",
    "%9l|%-9l|%09l|%-09l|",
    "%5p|%-5p|%05p|%30p|%-30p|%030p|", "%12C|%-12C|%.4C|%-12.4C|", "%4F|%-4F|%04F|",
    "%6R|%-6R|%.1R|", "%5m|%05m|%03q|%-3r|", "@@|@Y|\\\\|\\t|\\a|\\e|\\0|\\v|\\r|\\n|", "%9S|%-9S|%09S|", "äöü %t",
)  # fmt: skip
"""Format strings without the time of arrival."""


@pytest.mark.broker
@pytest.mark.parametrize("text", SAME)
def test_the_letters_are_those_of_mosquitto_sub(text: str, retained: int) -> None:
    command = ["mosquitto_sub", "-V", "5", "-p", str(retained), "-t", TOPIC, "-q", "1", "-C", "1", "-F", text]
    theirs = subprocess.run(
        [*command, "-D", "SUBSCRIBE", "subscription-identifier", "7"], capture_output=True, check=True, timeout=20
    ).stdout
    own = (*PROPERTIES, Property(SUBSCRIPTION_IDENTIFIER.id, 7))
    year = subprocess.run(["date", "+%Y"], capture_output=True, check=True).stdout.strip()
    ours = FormatString(text, cuts=True).write(message(properties=own))
    assert (ours if "@Y" not in text else re.sub(rb"\|20\d\d\|", b"|" + year + b"|", ours)) + b"\n" == theirs


@pytest.mark.broker
@pytest.mark.parametrize("text", ["%A|%2A|%-3A|%03A|", "%2C|%-3C|%.2C|", "%2E|%2F|%2S|%03S|", "%4R|%-4R|%4D|%4P|"])
def test_a_property_that_is_missing_leaves_its_width_blank(text: str, mosquitto: int) -> None:
    command = ["mosquitto_sub", "-V", "5", "-p", str(mosquitto), "-t", "format/bare", "-C", "1", "-F", text]
    publish_all(
        Target("127.0.0.1", mosquitto),
        [Publication.of(Publish(topic="format/bare", payload=b"x", retain=True), Version.V5)],
    )
    theirs = subprocess.run(command, capture_output=True, check=True, timeout=20).stdout
    assert FormatString(text).write(message()) + b"\n" == theirs


@pytest.mark.broker
@pytest.mark.parametrize("letter", "jJ")
def test_json_has_the_members_of_mosquitto_sub_in_their_order(letter: str, retained: int) -> None:
    command = ["mosquitto_sub", "-V", "5", "-p", str(retained), "-t", TOPIC, "-q", "1", "-C", "1", "-F", f"%{letter}"]
    theirs = subprocess.run(command, capture_output=True, check=True, timeout=20).stdout
    assert theirs.count(b'"user-property"') == 2 or b'"user-properties"' in theirs
    # Version 2.0 writes a repeated property as two members of one name.
    one = tuple(each for each in PROPERTIES if each.id != USER_PROPERTY.id)
    made = json.loads(FormatString(f"%{letter}").write(message(properties=one)))
    wanted = json.loads(theirs)
    for each in ("user-property", "user-properties"):
        wanted["properties"].pop(each, None)
    made["tst"], wanted["tst"] = (re.sub(r"\d", "0", each["tst"]) for each in (made, wanted))
    assert list(made.items()) == list(wanted.items())


def test_what_mosquitto_sub_loses_is_kept() -> None:
    record = mosquitto_record(message(b"\x00\xff", properties=PROPERTIES))
    assert record["payload"] == {"base64": "AP8="}
    assert record["properties"]["user-properties"] == [{"k": "v"}, {"k": "w w"}]
    assert mosquitto_record(message(b"not json"), parses=True)["payload"] == "not json"


def test_numbers_in_payloads_and_separated_hex() -> None:
    assert FormatString("%f|%.2f|%8.1f|%d").write(message(struct.pack("=f", 1.5))) == b"1.500000|1.50|     1.5|"
    assert FormatString("%d|%.1d").write(message(struct.pack("=d", -2.25))) == b"-2.250000|-2.2"
    assert FormatString("%.2:x|%.4-X").write(message(b"\x00\xff\x1a")) == b"00:ff:1a|00FF-1A"


HEX = {
    "%.1x": b"0 0 f f 1 a", "%.2x": b"00 ff 1a", "%.4x": b"00ff 1a", "%.0x": b"00ff1a", "%9x": b"   00ff1a",
    "%-9x|": b"00ff1a   |", "%09X": b"00000FF1A", "%10.2x": b"      00 ff 1a", "%-9.2:x|": b"00:ff:1a   |",
    "%09.3:x": b"000:00f:f1a", "%2x": b"00ff1a",
}  # fmt: skip
"""What mosquitto_sub 2.1 writes of three bytes, but that it leaves out the third of the last form."""


@pytest.mark.parametrize("text", HEX)
def test_hex_in_groups_and_in_a_width(text: str) -> None:
    assert FormatString(text).write(message(b"\x00\xff\x1a")) == HEX[text]


def test_only_the_client_of_mosquitto_cuts_a_payload_to_the_width() -> None:
    payload = bytes(range(20))
    for text in ("%18x", "%-18x", "%5p", "%18X"):
        assert len(FormatString(text).write(message(payload))) == (20 if "p" in text else 40)
    assert FormatString("%2x|%2p", cuts=True).write(message(b"\x00ab")) == b"0061|\x00a"


def test_times_are_those_of_arrival() -> None:
    assert FormatString("%U|@N").write(message()) == b"1800000000.123456789|123456789"
    assert re.fullmatch(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}", FormatString("%I").write(message()))


def test_what_came_from_the_peer_is_escaped_and_the_format_is_not() -> None:
    hostile = message(b"\x1b]0;x\x07", topic="a\x9bb", properties=(Property(CONTENT_TYPE.id, "\x1bc"),))
    written = FormatString("\\e%t %p %C %7p %D %P", shown=shown).write(hostile)
    assert written == b"\x1ba\\u009bb \\x1b]0;x\\x07 \\x1bc  \\x1b]0;x\\x07  "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%z", "Invalid format specifier 'z'."),
        ("50%", "Incomplete format specifier."),
        ("%-5", "Incomplete format specifier."),
        ("\\q", "Invalid escape specifier 'q'."),
        ("x\\", "Incomplete escape specifier."),
        ("%99999p", "Invalid width or precision 99999, it must be at most 10000."),
    ],
)
def test_a_format_that_cannot_be_used_is_refused(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        FormatString(text)

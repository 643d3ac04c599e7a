"""What one line says of a packet, and how it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    Auth,
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Puback,
    Publish,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
    Will,
)
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import PacketInContext
from mqttpub.view.terminal.cells import cells, clip, measure
from mqttpub.view.traffic.facts import Fact, facts, fit, name_of, preview, reason_fact
from tests.build.events import Dialog, known


def told(packet: Packet | bytes, version: Version = Version.V5) -> str:
    """Return the facts of a packet as text."""
    (each,) = known(Dialog(version=version).client(packet).events)
    assert isinstance(each, PacketInContext)
    return "  ".join(fact.text for fact in facts(each))


@pytest.mark.parametrize(
    ("packet", "expected"),
    [
        (Publish(topic="a", payload=b"hi"), 'QoS 0  a  2 B  "hi"'),
        (Publish(topic="a", qos=2, packet_id=9, dup=True, retain=True), "id 9  QoS 2  DUP  RETAIN  a  0 B"),
        (Publish(topic="a\x1b[31m\n", payload=b"\0\xff"), r"QoS 0  a\x1b[31m\n  2 B  00 ff"),
        (Publish(topic=""), 'QoS 0  ""  0 B'),
        (Puback(packet_id=1), "id 1"),
        (Puback(packet_id=1, reason_code=0x87), "id 1  0x87 Not authorized"),
        (Puback(packet_id=1, reason_code=0x77), "id 1  0x77 unknown"),
        (Puback(packet_id=1, reason_code=0, properties=(Property(0x1F, "\x07"),)), r'id 1  0x00 Success  "\x07"'),
        (Connack(session_present=True), "0x00 Success  session present"),
        (Connack(properties=(Property(0x12, "auto-1"),)), "0x00 Success  client auto-1"),
        (Connect(client_id="c", clean_start=False), "c  MQTT 5.0  keep alive 60 s"),
        (
            Connect(client_id="", username="me", password=b"pw", will_qos=1, will_retain=True, will=Will(topic="w")),
            '""  MQTT 5.0  clean start  keep alive 60 s  user me  will QoS 1 RETAIN  w',
        ),
        (
            Subscribe(packet_id=1, subscriptions=(Subscription(filter="a/#", qos=1), Subscription(filter="b"))),
            "id 1  QoS 1 a/#  QoS 0 b",
        ),
        (Unsubscribe(packet_id=1, filters=("a/#", "b")), "id 1  a/#  b"),
        (Suback(packet_id=1, reason_codes=(2,)), "id 1  0x02 Granted QoS 2"),
        (Suback(packet_id=1, reason_codes=(2, 0x87)), "id 1  0x02  0x87 Not authorized"),
        (Unsuback(packet_id=1, reason_codes=(0x11,)), "id 1  0x11 No subscription existed"),
        (Disconnect(reason_code=0x8E), "0x8e Session taken over"),
        (Disconnect(), ""),
        (Auth(reason_code=0x18, properties=()), "0x18 Continue authentication"),
        (Pingreq(), ""),
        (b"\x30\x00", "unreadable  2 B"),
    ],
)  # fmt: skip
def test_a_packet_has_its_main_facts(packet: Packet | bytes, expected: str) -> None:
    assert told(packet) == expected


@pytest.mark.parametrize(("code", "style"), [(0, "reason"), (0x7F, "reason"), (0x80, "error"), (0xFF, "error")])
def test_refusals_are_marked(code: int, style: str) -> None:
    assert reason_fact(Puback, code, Version.V5).style == style
    assert reason_fact(Connack, code, Version.V311).style == ("error" if code else "reason")


def test_no_password_is_shown() -> None:
    assert "s3cret" not in told(Connect(client_id="c", username="u", password=b"s3cret"))


def test_older_versions_have_their_own_words() -> None:
    assert told(Pubrel(packet_id=1, dup=True), Version.V31) == "id 1  DUP"
    assert told(Pubrel(packet_id=1), Version.V311) == "id 1"
    wanted = Subscribe(packet_id=1, dup=True, subscriptions=(Subscription(filter="a"),))
    assert told(wanted, Version.V31) == "id 1  DUP  QoS 0 a"
    assert told(Unsubscribe(packet_id=1, dup=True, filters=("a",)), Version.V31) == "id 1  DUP  a"
    assert told(Connect(client_id="c"), Version.V311) == "c  MQTT 3.1.1  clean session  keep alive 60 s"
    assert told(Connack(reason_code=5), Version.V311) == "0x05 not authorized"


def test_the_first_byte_names_the_packet_type() -> None:
    assert [name_of(data) for data in (b"\xe0\0", b"\x00\0", b"")] == ["DISCONNECT", "TYPE 0", "TYPE 0"]


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        (b"", '""'), (b"a\nb", r'"a\nb"'), (b"\0\1", "00 01"), (b"x" * 120, '"' + "x" * 120 + '"'),
        (b"x" * 121, '"' + "x" * 120 + "..."), (b"\xff" * 121, ("ff " * 120)[:-1] + "..."),
    ],
)  # fmt: skip
def test_a_preview_is_text_or_hex_and_says_that_it_is_cut(payload: bytes, shown: str) -> None:
    assert preview(payload) == shown


def test_a_character_cut_in_half_does_not_make_text_binary() -> None:
    assert preview(("x" * 119 + "\u20ac").encode()) == '"' + "x" * 119 + "..."


def test_characters_cut_are_counted() -> None:
    assert clip("sensors/temperature", 19) == "sensors/temperature"
    assert clip("sensors/temperature", 14) == "sensors/...+11"
    assert clip("\u4f60\u597d\u4f60\u597d\u4f60\u597d", 10) == "\u4f60\u597d...+4"
    assert clip("sensors", 2) == ".."
    assert clip("sensors", 0) == ""


def test_the_payload_goes_first_and_the_topic_bends() -> None:
    given = [Fact("id 1", "id"), Fact("sensors/kitchen/temperature", "topic", True), Fact("5 B", "length"),
             Fact('"21.50"', "payload", True, True)]  # fmt: skip

    def at(room: int) -> str:
        return "".join(text for text, _ in fit(given, room, 1))

    assert at(80) == 'id 1 sensors/kitchen/temperature 5 B "21.50"'
    assert at(40) == 'id 1 sensors/kitchen/te...+9 5 B "21.50"'
    assert at(30) == "id 1 sensors/kitchen...+12 5 B"
    assert at(20) == "id 1 +2 more"
    assert at(3) == "..."


@given(
    st.lists(st.builds(Fact, st.text(max_size=30).filter(str.isprintable), st.just(""), st.booleans(), st.booleans())),
    st.integers(0, 60),
    st.sampled_from((1, 2)),
)
def test_facts_never_exceed_their_room(given_facts: list[Fact], room: int, gap: int) -> None:
    assert measure(fit(given_facts, room, gap)) <= room
    assert all(cells(clip(fact.text, room)) <= room for fact in given_facts)

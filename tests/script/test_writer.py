"""Packets into steps: what is written reads back equal, and what the server chose is a variable."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.script.packets import StepContext, packet_bytes
from mqttpub.script.reader import read_line
from mqttpub.script.steps import PacketStep
from mqttpub.script.writer import ConnectionWriter
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connack, Connect, Puback, Publish, Subscribe, Subscription, Will
from mqttpub.spec.properties import ASSIGNED_CLIENT_IDENTIFIER, USER_PROPERTY
from mqttpub.spec.versions import Direction, Version
from tests.strategies import encoded
from tests.vectors import packets

C, S = Direction.CLIENT, Direction.SERVER
VECTORS = [(vector.data, vector.version) for vector in packets()]


def written(data: bytes, version: Version, direction: Direction = C) -> str:
    """Return the step for bytes, which must give them again."""
    text = ConnectionWriter(version, itertools.count(1)).step(data, direction)
    (step,) = read_line(text)
    assert isinstance(step, PacketStep)
    assert (step.direction, packet_bytes(step, StepContext(version, {}, {}))) == (direction, data)
    return text


@given(st.data(), st.sampled_from(Version), st.sampled_from(Direction), st.booleans())
def test_what_is_written_reads_back_equal(data: st.DataObject, version: Version, end: Direction, valid: bool) -> None:
    written(data.draw(encoded(version, valid)), version, end)


@given(st.binary(min_size=1, max_size=40), st.sampled_from(Version))
def test_any_bytes_read_back_equal(data: bytes, version: Version) -> None:
    written(data, version)


def test_every_vector_reads_back_equal() -> None:
    raw = [data.hex() for data, version in VECTORS if data and " raw " in written(data, version)]
    assert len(raw) < len(VECTORS) / 2


@pytest.mark.parametrize(
    ("packet", "text"),
    [
        (Publish(topic="a/b", qos=1, packet_id=7, payload=b"hi"), "> publish q1 t=a/b i=7 p=hi"),
        (Publish(topic="", payload=b""), "> publish t= p="),
        (Publish(topic="a b;c", payload=b"hex:1 $x ${y}"), r'> publish t="a b;c" p="hex:1 \$x \${y}"'),
        (Publish(topic="$SYS/#", payload=b"\xff\x00"), "> publish t=$SYS/# p=hex:ff00"),
        (Publish(topic="\udcff\u202e", payload="ä\n".encode()), r'> publish t="\xff\xe2\x80\xae" p="ä\n"'),
        (
            Publish(topic="a", properties=(Property(USER_PROPERTY.id, ("a:b", "c:d")),)),
            '> publish t=a user_property="a:b":c:d p=',
        ),
        (Puback(packet_id=7, reason_code=0x10), "> puback i=7 c=0x10"),
        (Puback(packet_id=7, reason_code=0, properties=()), "> puback i=7 c=0x00 properties="),
        (
            Subscribe(packet_id=1, subscriptions=(Subscription(filter="a,b", qos=1, no_local=True),)),
            '> subscribe i=1 f="a,b":q1:nl',
        ),
        (
            Connect(client_id="", clean_start=False, will=Will(topic="w", payload=b"x"), will_qos=1, keep_alive=60),
            "> connect will_qos=1 clean=0 ka=60 id= will.topic=w will.payload=x",
        ),
    ],
)
def test_steps_read_as_people_write_them(packet: Packet, text: str) -> None:
    assert written(encode(packet, Version.V5), Version.V5) == text


def test_bytes_that_no_words_give_are_raw() -> None:
    assert written(bytes.fromhex("3003"), Version.V5) == "> raw 3003"


def test_what_the_server_chose_is_a_variable_of_its_exchange() -> None:
    writer = ConnectionWriter(Version.V5, itertools.count(1))
    chosen = (Property(ASSIGNED_CLIENT_IDENTIFIER.id, "auto }x"),)
    talk = [
        (S, Connack(properties=chosen)),
        (S, Publish(topic="a", qos=1, packet_id=7)),
        (C, Publish(topic="a", qos=1, packet_id=7)),
        (S, Puback(packet_id=7)),
        (C, Puback(packet_id=7)),
        (S, Publish(topic="a", qos=1, packet_id=7)),
    ]
    assert [writer.step(encode(packet, Version.V5), end) for end, packet in talk] == [
        r"< connack sp=0 c=0x00 assigned_client_identifier=${id1:auto\x20\x7dx}",
        "< publish q1 t=a i=$m2:7 p=",
        "> publish q1 t=a i=7 p=",
        "< puback i=7",
        "> puback i=$m2:7",
        "< publish q1 t=a i=$m3:7 p=",
    ]

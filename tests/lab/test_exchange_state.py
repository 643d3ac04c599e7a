"""What both ends owe each other, after each packet of a conversation."""

import pytest

from mqttpub.codec.decode import decode_packet
from mqttpub.lab.exchange_state import ExchangeState
from mqttpub.script.encoder import ScriptEncoder
from mqttpub.script.reader import read_line
from mqttpub.script.steps import PacketStep
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.properties import TOPIC_ALIAS
from mqttpub.spec.versions import Direction, Version

C, S = Direction.CLIENT, Direction.SERVER


def after(text: str) -> ExchangeState:
    """Return the state after a conversation."""
    state, encoder = ExchangeState(), ScriptEncoder()
    for step in read_line(text):
        assert isinstance(step, PacketStep)
        packet = decode_packet(encoder.bytes_of(step), Version.V5)
        assert packet
        state.packet(step.direction, packet)
    return state


@pytest.mark.parametrize(
    ("text", "client", "server"),
    [
        ("> connect", [], ["connack"]),
        ("> connect; < connack", [], []),
        ("@ > publish q1 i7", [], ["puback i=7"]),
        ("@ > publish q1 i7; < puback i7", [], []),
        ("@ > publish q2 i7", [], ["pubrec i=7"]),
        ("@ > publish q2 i7; < pubrec i7", ["pubrel i=7"], []),
        ("@ > publish q2 i7; < pubrec i7 c97", [], []),
        ("@ > publish q2 i7; < pubrec i7; > pubrel i7", [], ["pubcomp i=7"]),
        ("@ > publish q2 i7; < pubrec i7; > pubrel i7; < pubcomp i7", [], []),
        ("@ > publish q2 i7; > publish q2 i7 d1", [], ["pubrec i=7"]),
        ("@ < publish q1 i7", ["puback i=7"], []),
        ("@ < publish q2 i7; > pubrec i7", [], ["pubrel i=7"]),
        ("@ < publish q2 i7; > pubrec i7; < pubrel i7", ["pubcomp i=7"], []),
        ("@ > subscribe i1; > unsubscribe i2; > pingreq", [], ["suback i=1", "unsuback i=2", "pingresp"]),
        ("@ > subscribe i1; > pingreq; < pingresp", [], ["suback i=1"]),
        ("@ > pingreq; > pingreq; < pingresp", [], ["pingresp"]),
        ("@ > auth c19", [], ["auth"]),
        ("@ > auth c19; < auth c18 authentication_method=m", ["auth c18 authentication_method=m"], []),
        ("@ > auth c19; < auth c18; > auth c18; < auth", [], []),
        ("> connect authentication_method=m; < auth c18", ["auth c18 authentication_method=m"], []),
        ("> connect; < auth c18; > auth c18", [], ["auth or connack"]),
        ("> connect; < auth c18; > auth c18; < auth c18; > auth c18", [], ["auth or connack"]),
        ("> connect; < auth c18; > auth c18; < connack", [], []),
    ],
)
def test_what_each_end_owes(text: str, client: list[str], server: list[str]) -> None:
    state = after(text)
    assert [each.words for each in state.owed[C]] == client
    assert [each.words for each in state.owed[S]] == server


def test_identifiers_quota_and_aliases() -> None:
    text = (
        "> connect receive_maximum=3; < connack receive_maximum=9; > publish q1 i1; > publish q2 i3 topic_alias=5; "
        "> subscribe i2; < publish q1 i1 t=b"
    )
    state = after(text)
    assert state.connected
    assert state.free_identifier() == 4
    assert list(state.lines()) == [
        ("owes", "puback i=1", "puback i=1, pubrec i=3, suback i=2"),
        ("in flight", "1, 3 of 9", "1 of 3"),
        ("aliases", "5=a", "none"),
    ]
    assert not after("> connect; < connack c87").connected


def test_many_exchanges_are_counted_and_few_are_listed() -> None:
    state = ExchangeState()
    for number in range(1, 20_001):
        state.packet(C, Publish(topic="a", qos=1, packet_id=number))
    (_, client, server), (_, flight, _) = state.lines()
    assert client == "nothing"
    assert server == "puback i=1, puback i=2, puback i=3 and 19,997 more"
    assert flight == "1, 2, 3 and 19,997 more of 65535"
    assert state.free_identifier() == 20_001


def test_what_a_peer_sent_is_escaped_and_short() -> None:
    state = ExchangeState()
    for alias in (1, 2):
        topic = "\x1b[31mEVIL\x1b]0;pwn\x07" + "x" * 60_000
        state.packet(S, Publish(topic=topic, properties=(Property(TOPIC_ALIAS.id, alias),)))
    *_, (name, client, server) = state.lines()
    assert (name, client) == ("aliases", "none")
    assert server.startswith("1=\\x1b[31mEVIL\\x1b]0;pwn\\x07xxx")
    assert server.isprintable()
    assert len(server) < 250

"""One connection against a scripted peer: every way it can end."""

import socket
import time

import pytest

from mqttpub.live.connection import Target
from mqttpub.live.failures import (
    ConnectionRefused,
    Exit,
    Failure,
    Interrupted,
    Lost,
    NotConnected,
    PeerFault,
    Refused,
    Unanswered,
    Unusable,
)
from mqttpub.live.flows import Exchange, Message
from mqttpub.live.publisher import publish_all
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.terms import Version
from tests.fakes import Peer, Script, scripted

TIMEOUT = 0.4
QOS_1 = Message.of(Publish(topic="a", qos=1), Version.V5)


def publish(port: int, qos: int, version: Version = Version.V5, count: int = 1) -> list[Exchange]:
    target = Target("127.0.0.1", port, version, Connect(client_id="test"))
    messages = [Message.of(Publish(topic="a", qos=qos, payload=b"x"), version) for _ in range(count)]
    return publish_all(target, messages, timeout=TIMEOUT)


def puback(peer: Peer) -> None:
    peer.accept()
    published = peer.packet()
    peer.send("40 02 " + published[5:7].hex())
    peer.packet()


def test_qos_1_is_done_with_its_puback() -> None:
    with scripted(puback) as port:
        (exchange,) = publish(port, 1)
    assert (exchange.reason_code, exchange.refused, exchange.packet_id) == (0, False, 1)
    assert exchange.seconds is not None


def test_qos_2_takes_four_packets() -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.accept()
        seen.append(peer.packet())
        peer.send("50 04 00 01 10 00")
        seen.append(peer.packet())
        peer.send("70 02 00 01")
        seen.append(peer.packet())

    with scripted(script) as port:
        (exchange,) = publish(port, 2)
    assert [packet[0] for packet in seen] == [0x34, 0x62, 0xE0]
    assert exchange.reason_code == 0x10


def test_acknowledgements_may_come_one_byte_at_a_time() -> None:
    def script(peer: Peer) -> None:
        peer.packet()
        peer.trickle("20 03 00 00 00")
        peer.packet()
        peer.trickle("40 04 00 01 00 00")
        peer.packet()

    with scripted(script) as port:
        assert publish(port, 1)[0].reason_code == 0


def test_no_more_is_sent_than_receive_maximum_allows() -> None:
    most = 0

    def script(peer: Peer) -> None:
        nonlocal most
        peer.accept("20 06 00 00 03 21 00 01")
        for _ in range(5):
            packet = peer.packet()
            peer.sock.settimeout(0.05)
            try:
                extra = peer.sock.recv(100)
            except TimeoutError:
                extra = b""
            most = max(most, len(extra))
            peer.sock.settimeout(10)
            peer.send("40 02 " + packet[5:7].hex())
        peer.packet()

    with scripted(script) as port:
        assert len(publish(port, 1, count=5)) == 5
    assert most == 0


REFUSED_CONNECTIONS = [
    ("20 03 00 87 00", Version.V5, "0x87 Not authorized"),
    ("20 09 00 88 06 1f 00 03 77 68 79", Version.V5, "0x88 Server unavailable: why"),
    ("20 02 00 05", Version.V311, "5 not authorized"),
    ("20 03 00 84 00", Version.V5, "0x84 Unsupported Protocol Version; --mqtt-version names another than 5.0"),
    ("20 02 00 01", Version.V31, "1 unacceptable protocol version; --mqtt-version names another than 3.1"),
    ("20 02 00 01", Version.V311, "1 unacceptable protocol version; --mqtt-version names another than 3.1.1"),
    ("20 02 00 01", Version.V5, "1 unacceptable protocol version; --mqtt-version names another than 5.0"),
    ("20 02 00 05", Version.V5, "5 not authorized"),
    ("20 02 00 02", Version.V311, "2 identifier rejected"),
]


@pytest.mark.parametrize(("connack", "version", "said"), REFUSED_CONNECTIONS)
def test_a_refused_connection_says_why(connack: str, version: Version, said: str) -> None:
    with scripted(lambda peer: _discard(peer.accept(connack))) as port:
        with pytest.raises(ConnectionRefused) as caught:
            publish(port, 1, version)
        assert str(caught.value) == f"the broker refused the connection: {said}"
        assert caught.value.status == Exit.CONNECTION_REFUSED


def _discard(_: object) -> None:
    """Make a script of an expression."""


def sends(*answers: str, wait: bool = True) -> Script:
    """Return a script that accepts and answers each packet with the next of these bytes."""

    def script(peer: Peer) -> None:
        peer.accept()
        for answer in answers:
            peer.packet()
            if answer:
                peer.send(answer)
        if wait:
            peer.wait()

    return script


FAULTS = {
    "never CONNACK": (lambda peer: peer.wait(), 1, Unanswered, "no CONNACK within 0.4 s"),
    "close instead of CONNACK": (lambda peer: peer.packet(), 1, Unanswered, "instead of sending CONNACK"),
    "never PUBACK": (sends(""), 1, Unanswered, "no PUBACK for Packet Identifier 1 within 0.4 s"),
    "never PUBREC": (sends(""), 2, Unanswered, "no PUBREC for Packet Identifier 1 within"),
    "never PUBCOMP": (sends("50 02 00 01", ""), 2, Unanswered, "no PUBCOMP for Packet Identifier 1 within"),
    "another identifier": (sends("40 02 00 09"), 1, Unanswered, "no PUBACK for Packet Identifier 1 within"),
    "close instead of PUBACK": (sends("", wait=False), 1, Unanswered, "closed the connection before PUBACK"),
    "close instead of PUBCOMP": (sends("50 02 00 01", "", wait=False), 2, Unanswered, "before PUBCOMP"),
    "DISCONNECT 0x97": (sends("e0 02 97 00"), 1, Refused, "the broker disconnected: 0x97 Quota exceeded"),
    "DISCONNECT at QoS 0": (sends("e0 02 90 00"), 0, Refused, "0x90 Topic Name invalid"),
    "PUBCOMP for PUBREC": (sends("70 02 00 01"), 2, PeerFault, "PUBREC was awaited"),
    "PUBREC for PUBACK": (sends("50 02 00 01"), 1, PeerFault, "PUBACK was awaited"),
    "PUBACK without identifier": (sends("40 01 00"), 1, PeerFault, "a faulty PUBACK"),
    "PUBACK with flags": (sends("43 02 00 01"), 1, PeerFault, "MQTT5-2.1.3-1"),
    "PUBACK with a foreign code": (sends("40 04 00 01 92 00"), 1, PeerFault, "MQTT5-3.4.2-1"),
    "five bytes of length": (sends("40 80 80 80 80 01"), 1, PeerFault, "does not end at its fourth byte"),
    "no such packet": (sends("00 00"), 1, PeerFault, "type 0"),
    "CONNACK of 3.1.1": (
        lambda peer: _discard(peer.accept("20 02 00 00")),
        1,
        PeerFault,
        "faulty CONNACK: no Property Length",
    ),
    "second CONNACK": (sends("20 03 00 00 00"), 1, PeerFault, "second CONNACK"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_ends_with_its_cause(name: str) -> None:
    script, qos, kind, said = FAULTS[name]
    began = time.monotonic()
    with scripted(script) as port, pytest.raises(kind) as caught:
        publish(port, qos)
    assert said in str(caught.value)
    assert time.monotonic() - began < 4


def test_answers_to_pingreq_are_no_progress() -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        while peer.packet() == bytes.fromhex("c0 00"):
            peer.send("d0 00")

    target = Target("127.0.0.1", connect=Connect(client_id="test", keep_alive=1))
    with scripted(script) as port, pytest.raises(Unanswered, match="no PUBACK"):
        publish_all(target._replace(port=port), [QOS_1], timeout=2.5)


def test_a_broker_that_leaves_pingreq_unanswered_is_lost() -> None:
    target = Target("127.0.0.1", connect=Connect(client_id="test", keep_alive=1))
    with scripted(sends("")) as port, pytest.raises(Lost, match="did not answer PINGREQ"):
        publish_all(target._replace(port=port), [QOS_1], timeout=10)


def test_a_refusing_puback_ends_the_exchange() -> None:
    with scripted(sends("40 09 00 01 87 05 1f 00 02 6e 6f")) as port:
        (exchange,) = publish(port, 1)
    assert (exchange.refused, exchange.reason_code, exchange.reason_string) == (True, 0x87, "no")


def test_a_refusing_pubrec_gets_no_pubrel() -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("50 03 00 01 87")
        seen.append(peer.packet())

    with scripted(script) as port:
        (exchange,) = publish(port, 2)
    assert exchange.refused
    assert seen[0][0] == 0xE0


def test_what_a_resumed_session_delivers_is_acknowledged() -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("32 08 00 01 61 00 07 00 68 69" + "34 08 00 01 61 00 08 00 68 69")
        seen.append(peer.packet())
        seen.append(peer.packet())
        peer.send("62 02 00 08" + "62 02 00 63")
        seen.append(peer.packet())
        seen.append(peer.packet())
        peer.send("40 02 00 01")
        peer.packet()

    with scripted(script) as port:
        publish(port, 1)
    assert [packet.hex() for packet in seen] == ["40020007", "50020008", "70020008", "7003006392"]


def test_a_port_where_nobody_listens_is_not_connected() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(NotConnected) as caught:
        publish(port, 0)
    assert str(caught.value) == f"cannot connect to 127.0.0.1:{port}: Connection refused"


def test_an_unknown_host_is_not_connected() -> None:
    with pytest.raises(NotConnected, match=r"host 'no\.such\.host\.invalid' is not known"):
        publish_all(Target(host="no.such.host.invalid"), [QOS_1], timeout=5)


def test_every_failure_has_its_status() -> None:
    statuses: dict[type[Failure], int] = {
        NotConnected: 3, ConnectionRefused: 4, Refused: 5, Unanswered: 6, Lost: 6, PeerFault: 7, Interrupted: 130,
        Unusable: 2,
    }  # fmt: skip
    assert {kind: int(kind.status) for kind in statuses} == statuses
    assert issubclass(Lost, Failure)

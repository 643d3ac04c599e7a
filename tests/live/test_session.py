"""One connection against a scripted peer: every way it can end."""

import socket
import time

import pytest

from mqttpub.live.failures import (
    ConnectionLost,
    ConnectionRefused,
    Exit,
    Failure,
    Interrupted,
    NotConnected,
    PeerFault,
    Refused,
    Unanswered,
    Unusable,
)
from mqttpub.live.net.target import Target
from mqttpub.live.publish.publisher import publish_all
from mqttpub.live.publish.sender import OutgoingMessage, Publication
from mqttpub.spec.declare import PACKETS, Property
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Version
from tests.fakes import Peer, Script, answering, scripted

TIMEOUT = 0.4
QOS_1 = Publication.of(Publish(topic="a", qos=1), Version.V5)


def publish(port: int, qos: int, version: Version = Version.V5, count: int = 1) -> list[OutgoingMessage]:
    target = Target("127.0.0.1", port, version, Connect(client_id="test"))
    messages = [Publication.of(Publish(topic="a", qos=qos, payload=b"x"), version) for _ in range(count)]
    return publish_all(target, messages, timeout_s=TIMEOUT)


def test_qos_1_is_done_with_its_puback() -> None:
    with scripted(answering("40 02 00 01", "")) as port:
        (exchange,) = publish(port, 1)
    assert (exchange.reason_code, exchange.refused, exchange.packet_id) == (0, False, 1)
    assert exchange.latency_s is not None


def test_qos_2_takes_four_packets() -> None:
    seen: list[str] = []
    with scripted(answering("50 04 00 01 10 00", "70 02 00 01", "", seen=seen)) as port:
        (exchange,) = publish(port, 2)
    assert [packet[:2] for packet in seen] == ["34", "62", "e0"]
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
    ("20 03 00 84 00", Version.V5, "0x84 Unsupported Protocol Version; try another --mqtt-version than 5.0"),
    ("20 02 00 01", Version.V31, "1 unacceptable protocol version; try another --mqtt-version than 3.1"),
    ("20 02 00 01", Version.V311, "1 unacceptable protocol version; try another --mqtt-version than 3.1.1"),
    ("20 02 00 01", Version.V5, "1 unacceptable protocol version; try another --mqtt-version than 5.0"),
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


def sends(*answers: str) -> Script:
    """Return a script that accepts, answers each packet with the next of these bytes, and waits."""
    return answering(*answers, last=Peer.wait)


FAULTS = {
    "never CONNACK": (lambda peer: peer.wait(), 1, NotConnected, "within 0.4 s; no message was sent"),
    "close instead of CONNACK": (
        lambda peer: peer.packet(),
        1,
        NotConnected,
        "closed the connection before CONNACK, as a TLS port does without --tls; no message was sent",
    ),
    "half a CONNACK": (
        lambda peer: _discard(peer.accept("20 03 00")),
        1,
        NotConnected,
        "closed the connection before CONNACK; no",
    ),
    "DISCONNECT instead of CONNACK": (
        lambda peer: _discard(peer.accept("e0 01 8b")),
        1,
        PeerFault,
        "the broker sent DISCONNECT (0x8b Server shutting down) before CONNACK (MQTT5-3.2.0-1): e0 01 8b",
    ),
    "never PUBACK": (sends(""), 1, Unanswered, "no PUBACK for Packet Identifier 1 within 0.4 s"),
    "never PUBREC": (sends(""), 2, Unanswered, "no PUBREC for Packet Identifier 1 within"),
    "never PUBCOMP": (sends("50 02 00 01", ""), 2, Unanswered, "no PUBCOMP for Packet Identifier 1 within"),
    "another identifier": (sends("40 02 00 09"), 1, Unanswered, "no PUBACK for Packet Identifier 1 within"),
    "close instead of PUBACK": (answering(""), 1, Unanswered, "closed the connection before PUBACK"),
    "close instead of PUBCOMP": (answering("50 02 00 01", ""), 2, Unanswered, "before PUBCOMP"),
    "DISCONNECT 0x97": (sends("e0 02 97 00"), 1, Refused, "the broker disconnected: 0x97 Quota exceeded"),
    "DISCONNECT at QoS 0": (sends("e0 02 90 00"), 0, Refused, "0x90 Topic Name invalid"),
    "PUBCOMP for PUBREC": (sends("70 02 00 01"), 2, PeerFault, "PUBREC was awaited"),
    "PUBREC for PUBACK": (sends("50 02 00 01"), 1, PeerFault, "PUBACK was awaited"),
    "PUBACK without identifier": (sends("40 01 00"), 1, PeerFault, "PUBACK with an error at offset 2"),
    "PUBACK with flags": (sends("43 02 00 01"), 1, PeerFault, "MQTT5-2.1.3-1"),
    "PUBACK with a foreign code": (sends("40 04 00 01 92 00"), 1, PeerFault, "MQTT5-3.4.2-1"),
    "five bytes of length": (sends("40 80 80 80 80 01"), 1, PeerFault, "does not end at its fourth byte"),
    "no such packet": (sends("00 00"), 1, PeerFault, "type 0"),
    "CONNACK of 3.1.1": (
        lambda peer: _discard(peer.accept("20 02 00 00")),
        1,
        PeerFault,
        "CONNACK with an error at offset 4: no Property Length",
    ),
    "second CONNACK": (sends("20 03 00 00 00"), 1, PeerFault, "second CONNACK"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_ends_with_its_cause(name: str) -> None:
    script, qos, kind, said = FAULTS[name]
    with scripted(script) as port, pytest.raises(kind) as caught:
        publish(port, qos)
    assert said in str(caught.value)


# what a client has to close for

LIMITED = Connect(client_id="test", properties=(
    Property(0x17, 0), Property(0x21, 1), Property(0x22, 2), Property(0x27, 20),
))  # fmt: skip
"""Request Problem Information 0, Receive Maximum 1, Topic Alias Maximum 2, Maximum Packet Size 20."""
ACCEPTED = "20 03 00 00 00"
PUBLISH_1, PUBLISH_2 = "32 06 00 01 61 00 07 00", "34 06 00 01 61 00 07 00"
OBLIGING = {
    "Session Present on a clean start": ("20 03 01 00 00", "", "82", "MQTT5-3.2.2-2): 20 03 01 00 00"),
    "PUBLISH before CONNACK": ("30 04 00 01 61 00" + ACCEPTED, "", "82", "PUBLISH before CONNACK (MQTT5-3.2.0-1)"),
    "PINGRESP before CONNACK": ("d0 00" + ACCEPTED, "", "82", "PINGRESP before CONNACK"),
    "the beginning of a packet before CONNACK": ("90 04 00 01", "", "82", "SUBACK before CONNACK"),
    "AUTH before CONNACK": ("f0 00", "", "82", "MQTT5-4.12.0-6"),
    "AUTH": (ACCEPTED, "f0 00", "82", "MQTT5-4.12.0-6"),
    "a method in CONNACK": ("20 07 00 00 04 15 00 01 61", "", "82", "MQTT5-4.12.0-6"),
    "second CONNACK": (ACCEPTED, ACCEPTED, "82", "second CONNACK (MQTT5-3.2.0-2): 20 03 00 00 00"),
    "an ack above Maximum Packet Size": (
        ACCEPTED, "40 13 00 01 00 0f 1f 00 0c" + "61" * 12, "95", "sent PUBACK with more bytes",
    ),
    "the beginning of one": (ACCEPTED, "40 7f 00 01 00 7b 26", "95", "MQTT5-3.1.2-24"),
    "Topic Alias above the maximum": (ACCEPTED, "30 07 00 01 61 03 23 00 03", "94", "is 2 (MQTT5-3.1.2-26)"),
    "Topic Alias 0": (ACCEPTED, "30 07 00 01 61 03 23 00 00", "94", "MQTT5-3.3.2-8"),
    "Topic Alias that was never set": (
        ACCEPTED, "30 07 00 01 61 03 23 00 02" + "30 06 00 00 03 23 00 01", "82", "Topic Alias 1 before",
    ),
    "two of QoS 1 at once": (
        ACCEPTED, PUBLISH_1 + PUBLISH_1.replace("07", "08"), "93", "our Receive Maximum is 1 (MQTT5-3.3.4-9)",
    ),
    "a second of QoS 2": (ACCEPTED, PUBLISH_2 + PUBLISH_2.replace("07", "08"), "93", "MQTT5-3.3.4-9"),
    "an unwanted Reason String": (ACCEPTED, "40 08 00 01 00 04 1f 00 01 61", "82", "MQTT5-3.1.2-29"),
    "an unwanted User Property": (ACCEPTED, "50 0b 00 01 00 07 26 00 01 61 00 01 62", "82", "MQTT5-3.1.2-29"),
    "PUBCOMP for PUBREC": (ACCEPTED, "70 02 00 01", "82", "PUBREC was awaited"),
    "flags": (ACCEPTED, "51 02 00 01", "81", "MQTT5-2.1.3-1): 51 02 00 01"),
    "truncated": (ACCEPTED, "50 01 00", "81", "1 byte is left"),
    "five bytes of length": (ACCEPTED, "40 80 80 80 80 01", "81", "fourth byte: 40 80 80 80 80 01"),
    "SUBSCRIBE": (ACCEPTED, "82 06 00 01 00 00 00 00", "82", "SUBSCRIBE with an error at offset 0"),
}  # fmt: skip


def ending(connect: Connect, version: Version, connack: str, answer: str) -> tuple[Failure, list[str]]:
    """Publish at QoS 2 to a peer that answers so; return the failure, and what the client sent after that."""
    last: list[str] = []

    def script(peer: Peer) -> None:
        peer.accept(connack)
        if answer:
            peer.packet()
            peer.send(answer)
        while packet := peer.packet():
            last.append(packet.hex(" "))

    target = Target("127.0.0.1", version=version, connect=connect)
    message = Publication.of(Publish(topic="a", qos=2), version)
    with scripted(script) as port, pytest.raises(Failure) as caught:
        publish_all(target._replace(port=port), [message], timeout_s=TIMEOUT)
    return caught.value, last


@pytest.mark.parametrize("name", OBLIGING)
def test_a_protocol_fault_is_answered_with_its_reason_code(name: str) -> None:
    connack, answer, code, said = OBLIGING[name]
    failure, last = ending(LIMITED, Version.V5, connack, answer)
    assert (failure.status, last[-1]) == (Exit.PEER_FAULT, f"e0 01 {code}"), failure
    assert said in str(failure)


OBLIGING_BEFORE_5 = {
    "Session Present": (Version.V311, "20 02 01 00", "", "although Clean Session is 1 (MQTT311-3.2.2-1)"),
    "PUBLISH": (Version.V31, "30 03 00 01 61 20 02 00 00", "", "PUBLISH before CONNACK: "),
    "AUTH": (Version.V311, "20 02 00 00", "f0 00", "with an error at offset 0: packet type 15 is reserved"),
    "PUBCOMP for PUBREC": (Version.V311, "20 02 00 00", "70 02 00 01", "PUBREC was awaited"),
}


@pytest.mark.parametrize("name", OBLIGING_BEFORE_5)
def test_before_5_0_the_connection_is_only_closed(name: str) -> None:
    version, connack, answer, said = OBLIGING_BEFORE_5[name]
    failure, last = ending(Connect(client_id="test"), version, connack, answer)
    assert failure.status == Exit.PEER_FAULT
    assert said in str(failure)
    assert [each[:2] for each in last if each[:2] != "34"] == []


def test_a_broker_may_use_what_our_connect_allows() -> None:
    seen: list[str] = []
    allowed = "30 07 00 01 61 03 23 00 02" + "30 06 00 00 03 23 00 02" + PUBLISH_1

    def script(peer: Peer) -> None:
        answering(allowed, "32 06 00 01 61 00 08 00" + "40 12 00 01 00 0e", seen=seen)(peer)
        peer.send("26 00 01 61 00 08" + "62" * 8)
        seen.append(peer.packet().hex(" "))
        peer.packet()

    connect = LIMITED.replace(properties=LIMITED.properties[1:])
    with scripted(script) as port:
        publish_all(Target("127.0.0.1", port, connect=connect), [QOS_1], timeout_s=TIMEOUT)
    assert seen[1:3] == ["40 02 00 07", "40 02 00 08"]


def test_a_packet_of_exactly_maximum_packet_size_is_allowed() -> None:
    with scripted(sends("40 12 00 01 00 0e 1f 00 0b" + "61" * 11)) as port:
        target = Target("127.0.0.1", port, connect=LIMITED.replace(properties=LIMITED.properties[1:]))
        (exchange,) = publish_all(target, [QOS_1], timeout_s=TIMEOUT)
    assert exchange.reason_string == "a" * 11


def test_a_step_of_authentication_that_was_asked_for_cannot_be_given() -> None:
    connect = Connect(client_id="test", properties=(Property(0x15, "GS2"),))
    failure, last = ending(connect, Version.V5, "f0 08 18 06 15 00 03 47 53 32", "")
    assert (failure.status, last) == (Exit.NOT_CONNECTED, [])
    assert "another authentication step" in str(failure)


# what comes after everything was acknowledged

LATE = {
    "QoS 1": PUBLISH_1,
    "QoS 2": PUBLISH_2,
    "PUBREL": "62 02 00 07",
    "the beginning of a message": "32 7f 00 01 61",
    "DISCONNECT of its own": "e0 01 8b",
    "all of them": PUBLISH_1 + PUBLISH_2 + "62 02 00 07" + "e0 01 8e",
}


@pytest.mark.parametrize("name", LATE)
def test_packets_after_our_disconnect_change_nothing(name: str) -> None:
    seen: list[str] = []
    with scripted(answering("40 02 00 01", LATE[name], "", seen=seen)) as port:
        (exchange,) = publish(port, 1)
    assert exchange.reason_code == 0
    assert seen[1:] == ["e0 00", ""], "nothing follows DISCONNECT"


def test_a_server_that_shuts_down_after_the_last_acknowledgement_changes_nothing() -> None:
    with scripted(sends("40 02 00 01 e0 01 8b")) as port:
        (exchange,) = publish(port, 1)
    assert exchange.reason_code == 0


def test_a_server_that_shuts_down_before_the_rest_was_sent_is_named() -> None:
    target = Target("127.0.0.1", connect=Connect(client_id="test"))
    with scripted(sends("40 02 00 01 e0 01 8b")) as port, pytest.raises(Refused, match="0x8b Server shutting down"):
        publish_all(target._replace(port=port), [QOS_1, QOS_1], timeout_s=TIMEOUT, window=1)


@pytest.mark.parametrize("also", ["", PUBLISH_1, PUBLISH_1 * 2000, "50 02 00 09" * 2000])
def test_a_reset_after_the_last_acknowledgement_changes_nothing(also: str) -> None:
    with scripted(answering("40 02 00 01" + also, last=Peer.reset)) as port:
        (exchange,) = publish(port, 1)
    assert exchange.reason_code == 0


def test_a_reset_with_a_qos_0_message_under_way_leaves_it_in_doubt() -> None:
    with (
        scripted(answering("", last=Peer.reset)) as port,
        pytest.raises(ConnectionLost, match="before everything was sent"),
    ):
        publish(port, 0)


def test_a_repeated_pubrec_does_not_restart_the_timeout() -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("50 02 00 01")
        enough = time.monotonic() + 10 * TIMEOUT
        while peer.packet():
            peer.send("50 02 00 01" if time.monotonic() < enough else "70 02 00 01")

    with scripted(script) as port, pytest.raises(Unanswered, match=r"no PUBCOMP .* within 0\.4 s"):
        publish(port, 2)


def test_a_redirection_names_the_other_server() -> None:
    moved, another = "20 0a 00 9d 07 1c 00 04 62 3a 38 33", "e0 0e 9c 0c 1c 00 01 62 1f 00 05 73 6f 72 72 79"
    with scripted(lambda peer: _discard(peer.accept(moved))) as port, pytest.raises(ConnectionRefused) as caught:
        publish(port, 1)
    assert str(caught.value).endswith("0x9d Server moved, Server Reference 'b:83'")
    with scripted(sends(another)) as port, pytest.raises(Refused) as refused:
        publish(port, 1)
    assert str(refused.value).endswith("0x9c Use another server, Server Reference 'b': sorry")


def test_a_client_identifier_that_is_not_utf_8_is_sent_unchanged() -> None:
    """With --force the user tries how a broker takes it."""
    connects: list[bytes] = []

    def script(peer: Peer) -> None:
        connects.append(peer.accept())
        peer.packet()
        peer.send("40 02 00 01")

    connect = Connect(client_id=b"a\xff".decode("utf-8", "surrogateescape"))
    with scripted(script) as port:
        publish_all(Target("127.0.0.1", port, connect=connect), [QOS_1], timeout_s=5)
    assert [each.hex(" ")[-11:] for each in connects] == ["00 02 61 ff"]


@pytest.mark.slow
def test_answers_to_pingreq_do_not_restart_the_timeout() -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        while peer.packet() == bytes.fromhex("c0 00"):
            peer.send("d0 00")

    target = Target("127.0.0.1", connect=Connect(client_id="test", keep_alive=1))
    with scripted(script) as port, pytest.raises(Unanswered, match="no PUBACK"):
        publish_all(target._replace(port=port), [QOS_1], timeout_s=2.5)


@pytest.mark.slow
def test_a_broker_that_leaves_pingreq_unanswered_is_lost() -> None:
    target = Target("127.0.0.1", connect=Connect(client_id="test", keep_alive=1))
    with scripted(sends("")) as port, pytest.raises(ConnectionLost, match="did not answer PINGREQ"):
        publish_all(target._replace(port=port), [QOS_1], timeout_s=10)


LAST = [
    (Version.V311, [1, 0], ["PUBLISH", "PUBLISH", "PINGREQ", "DISCONNECT"]),
    (Version.V31, [0], ["PUBLISH", "PINGREQ", "DISCONNECT"]),
    (Version.V311, [0, 1], ["PUBLISH", "PUBLISH", "DISCONNECT"]),
    (Version.V311, [2], ["PUBLISH", "PUBREL", "DISCONNECT"]),
    (Version.V311, [], ["DISCONNECT"]),
    (Version.V5, [1, 0], ["PUBLISH", "PUBLISH", "DISCONNECT"]),
]
ANSWERS = {0x32: "40 02 00 01", 0x34: "50 02 00 01", 0x62: "70 02 00 01", 0xC0: "d0 00"}


@pytest.mark.parametrize(("version", "qos", "expected"), LAST)
def test_pingreq_is_sent_if_nothing_else_shows_that_the_last_message_was_taken(
    version: Version, qos: list[int], expected: list[str]
) -> None:
    seen: list[str] = []

    def script(peer: Peer) -> None:
        peer.accept("20 03 00 00 00" if version == Version.V5 else "20 02 00 00")
        while packet := peer.packet():
            seen.append(PACKETS[packet[0] >> 4].name)
            if answer := ANSWERS.get(packet[0]):
                peer.send(answer)

    messages = [Publication.of(Publish(topic="a", qos=each), version) for each in qos]
    with scripted(script) as port:
        publish_all(Target("127.0.0.1", port, version, Connect(client_id="test")), messages, timeout_s=TIMEOUT)
    assert seen == expected


def test_a_refusing_puback_ends_the_exchange() -> None:
    with scripted(sends("40 09 00 01 87 05 1f 00 02 6e 6f")) as port:
        (exchange,) = publish(port, 1)
    assert (exchange.refused, exchange.reason_code, exchange.reason_string) == (True, 0x87, "no")


def test_a_refusing_pubrec_gets_no_pubrel() -> None:
    seen: list[str] = []
    with scripted(answering("50 03 00 01 87", "", seen=seen)) as port:
        (exchange,) = publish(port, 2)
    assert exchange.refused
    assert seen[1:] == ["e0 00"]


@pytest.mark.parametrize(("qos", "answer"), [(1, "40 03 00 01 80"), (2, "50 03 00 01 80")])
def test_the_lowest_refusing_code_refuses(qos: int, answer: str) -> None:
    seen: list[str] = []
    with scripted(answering(answer, "", seen=seen)) as port:
        (exchange,) = publish(port, qos)
    assert (exchange.refused, exchange.reason_code) == (True, 0x80)
    assert seen[1:] == ["e0 00"], "no PUBREL"


def test_every_pubrec_gets_a_pubrel_until_pubcomp() -> None:
    seen: list[str] = []
    with scripted(answering("50 02 00 01", "50 02 00 01", "70 02 00 01", "", seen=seen)) as port:
        (exchange,) = publish(port, 2)
    assert seen[1:] == ["62 02 00 01", "62 02 00 01", "e0 00"]
    assert exchange.acked_at_s


def test_messages_of_a_resumed_session_are_acknowledged() -> None:
    seen: list[str] = []
    messages = "32 08 00 01 61 00 07 00 68 69" + "34 08 00 01 61 00 08 00 68 69"
    # The first PUBREL frees the Packet Identifier: the same again is not known any more.
    answers = (messages, "", "62 02 00 08" + "62 02 00 63", "", "62 02 00 08", "40 02 00 01", "")
    with scripted(answering(*answers, seen=seen)) as port:
        publish(port, 1)
    expected = ["40 02 00 07", "50 02 00 08", "70 02 00 08", "70 03 00 63 92", "70 03 00 08 92"]
    assert seen[1:-1] == expected


def test_a_port_where_nobody_listens_is_not_connected() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(NotConnected) as caught:
        publish(port, 0)
    assert str(caught.value) == f"cannot connect to 127.0.0.1:{port}: Connection refused"


def test_an_unknown_host_is_not_connected() -> None:
    with pytest.raises(NotConnected, match=r"cannot resolve host 'no\.such\.host\.invalid'"):
        publish_all(Target(host="no.such.host.invalid"), [QOS_1], timeout_s=5)


def test_every_failure_has_its_status() -> None:
    statuses: dict[type[Failure], int] = {
        NotConnected: 3, ConnectionRefused: 4, Refused: 5, Unanswered: 6, ConnectionLost: 6, PeerFault: 7,
        Interrupted: 130, Unusable: 2,
    }  # fmt: skip
    assert {kind: int(kind.status) for kind in statuses} == statuses
    assert issubclass(ConnectionLost, Failure)

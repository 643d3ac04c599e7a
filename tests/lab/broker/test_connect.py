"""CONNECT: who is let in, and with what."""

from typing import Any

import pytest

from mqttpub.codec.encode import Raw
from mqttpub.lab.broker.limits import Limits
from mqttpub.spec.packets import Connack, Connect, Disconnect, Pingreq, Pingresp, Publish, Will
from mqttpub.spec.versions import Version
from tests.lab.peer import EACH, V5, V31, V311, Lab, prop, props

each_version = pytest.mark.parametrize("version", EACH)


@each_version
def test_a_client_is_let_in(version: Version) -> None:
    lab = Lab()
    connack = lab.connect(version=version).connack
    assert connack.session_present is False
    assert connack.properties == (
        props(receive_maximum=100, maximum_packet_size=1 << 20, topic_alias_maximum=10) if version == V5 else ()
    )
    assert lab.events == [("connect", "c", f"MQTT {version.label}, clean, keep alive 60 s")]


def test_the_connack_says_what_the_broker_does_not_offer() -> None:
    lab = Lab(Limits(qos=1, retain=False, receive=7, packet=500, aliases=0))
    assert lab.connect().connack.properties == props(
        receive_maximum=7, maximum_qos=1, retain_available=0, maximum_packet_size=500, topic_alias_maximum=0
    )


@pytest.mark.parametrize(
    ("version", "code"), [(V5, 0), (V311, 0), (V31, 2)], ids=[version.label for version in (V5, V311, V31)]
)
def test_an_empty_client_identifier(version: Version, code: int) -> None:
    lab = Lab()
    first, second = lab.peer(version), lab.peer(version)
    for index, peer in enumerate((first, second), 1):
        connack = peer.ask(Connect(client_id="", clean_start=True))
        assert connack.reason_code == code
        if version == V5:
            assert prop(connack, "assigned_client_identifier") == f"assigned{index}"
    assert (first.over is None) is (code == 0)


def test_an_assigned_client_identifier_is_nobodys() -> None:
    lab = Lab()
    lab.connect("assigned1")
    assert prop(lab.connect("").connack, "assigned_client_identifier") == "assigned2"


WILL = Will(topic="w")
REFUSED: list[tuple[str, Connect, int, int | None]] = [
    ("authentication", Connect(properties=props(authentication_method="SCRAM")), 0x8C, -1),
    ("empty id that is to last", Connect(client_id="", clean_start=False), 0, 2),
    ("long client id in 3.1", Connect(client_id="c" * 24), 0, 0),
    ("will with a wildcard", Connect(will=Will(topic="w/#")), 0x90, None),
    ("will to the broker's own topics", Connect(will=Will(topic="$SYS/w")), 0x90, None),
    ("will of QoS 3", Connect(will=WILL, will_qos=3), 0x81, None),
    ("will QoS without a will", Connect(will_qos=1), 0x82, None),
    ("reserved flag", Connect(reserved=True), 0x81, None),
    ("reserved header bits", Connect(flags=1), 0x81, None),
    ("data without a method", Connect(properties=props(authentication_data=b"x")), 0x82, -1),
    ("Receive Maximum 0", Connect(properties=props(receive_maximum=0)), 0x82, -1),
    ("a property twice", Connect(properties=props(receive_maximum=[1, 2])), 0x82, -1),
    ("a property of CONNACK", Connect(properties=props(maximum_qos=1)), 0x81, -1),
    ("client id that is not UTF-8", Connect(client_id="\udcff"), 0x81, None),
    ("client id with a NUL", Connect(client_id="a\0"), 0x81, None),
    ("password without a name", Connect(password=b"x"), 0, None),
    ("a name with nothing behind its flag", Connect(username_flag=True), 0x81, None),
    ("bytes left over", Connect().replace(client_id=Raw(b"\0\1cxyz")), 0x81, None),
]
"""Name, CONNECT, Reason Code in 5.0, return code in 3.1.1 (None: closed without CONNACK; -1: not in 3.1.1)."""


@pytest.mark.parametrize(("connect", "code"), [(row[1], row[2]) for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_5_refuses(connect: Connect, code: int) -> None:
    lab = Lab()
    peer = lab.peer(V5)
    connack = peer.ask(connect)
    assert connack.reason_code == code
    assert connack.session_present is False
    assert (peer.over is None) is (code == 0)
    if code:
        assert prop(connack, "reason_string")
        assert peer.send(Pingreq()).got() == []
        assert lab.kinds() == ["refusal"]
        assert not lab.hub.sessions


REFUSED_3 = [(row[0], row[1], row[3]) for row in REFUSED if row[3] != -1]


@pytest.mark.parametrize(("connect", "code"), [row[1:] for row in REFUSED_3], ids=[row[0] for row in REFUSED_3])
def test_what_3_1_1_refuses(connect: Connect, code: int | None) -> None:
    peer = Lab().peer(V311)
    got = peer.send(connect).got()
    assert [each.reason_code for each in got] == ([] if code is None else [code])
    assert (peer.over is None) is (code == 0)


PROTOCOLS: list[tuple[str, int, Version, int | None]] = [
    ("MQTT", 3, V31, 1),
    ("MQTT", 0, V311, 1),
    ("MQTT", 6, V5, 0x84),
    ("MQTT", 0x84, V311, 1),
    ("MQIsdp", 4, V311, 1),
    ("MQIsdp", 5, V5, 0x84),
    ("MQIsdp", 0x83, V31, 1),
    ("MQXX", 4, V311, None),
    ("MQXX", 3, V31, None),
    ("MQXX", 5, V5, 0x84),
    ("mqtt", 4, V311, None),
    ("", 4, V311, None),
]
"""Protocol name and level, version of the answer, its code."""


@pytest.mark.parametrize(("name", "level", "version", "code"), PROTOCOLS)
def test_other_protocols_are_refused(name: str, level: int, version: Version, code: int | None) -> None:
    peer = Lab().peer(version)
    got = peer.send(Connect(protocol_name=name, protocol_level=level, client_id="c")).got()
    assert [each.reason_code for each in got] == ([] if code is None else [code])
    assert peer.connection.version == version
    assert peer.over


def test_another_version_is_refused_without_regard_to_the_rest() -> None:
    assert Lab().peer(V311).ask(b"\x10\x08\0\4MQTT\7\xff").reason_code == 1


@pytest.mark.parametrize(
    "data", [b"\x10\0", b"\x10\2\0\4", b"\x10\6\0\4MQTT", b"\xc0\0", b"\xe0\0", b"GET / HTTP/1.1\r\n" * 5]
)
def test_nothing_is_said_before_the_version_is_known(data: bytes) -> None:
    lab = Lab()
    peer = lab.peer()
    assert peer.send(data).got() == []
    assert peer.over
    assert lab.kinds() == ["refusal"]


@pytest.mark.parametrize(("version", "code"), [(V5, 0x86), (V311, 4), (V31, 4)])
def test_credentials_are_checked_if_there_are_any(version: Version, code: int) -> None:
    lab = Lab(users={"ann": b"secret"})
    for given in ({}, {"username": "ann"}, {"username": "bob", "password": b"secret"}):
        assert lab.peer(version).ask(Connect(client_id="c", **given)).reason_code == code
    lab.connect(version=version, username="ann", password=b"secret")


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"will_qos": 2}, 0x9B), ({"will_retain": True}, 0x9A), ({"will_qos": 1}, 0), ({}, 0)],
)
def test_a_will_beyond_the_offer_is_refused(fields: dict[str, Any], code: int) -> None:
    lab = Lab(Limits(qos=1, retain=False))
    assert lab.peer().ask(Connect(client_id="c", will=WILL, **fields)).reason_code == code


@pytest.mark.parametrize(("version", "code"), [(V5, 0x97), (V311, 3)])
def test_sessions_have_a_limit(version: Version, code: int) -> None:
    lab = Lab(Limits(sessions=1))
    lab.connect("a", version)
    for client_id in ("b", ""):
        assert lab.peer(version).ask(Connect(client_id=client_id)).reason_code == code
    lab.connect("a", version)


def test_a_second_connect_ends_the_connection() -> None:
    peer = Lab().connect()
    assert peer.ask(Connect(client_id="c")).reason_code == 0x82


@each_version
def test_a_session_lasts_as_its_version_says(version: Version) -> None:
    lab = Lab()
    more: dict[str, Any] = {"properties": props(session_expiry_interval=100)} if version == V5 else {}
    lab.connect(version=version, clean_start=False, **more).bye()
    lab.wait(99)
    again = lab.connect(version=version, clean_start=False, **more)
    assert again.connack.session_present is (version > V31)
    again.bye()
    lab.wait(101)
    assert bool(lab.hub.sessions) is (version != V5)
    clean = lab.connect(version=version, clean_start=True)
    assert clean.connack.session_present is False
    clean.bye()
    assert not lab.hub.sessions


def test_a_session_may_last_for_ever() -> None:
    lab = Lab()
    lab.connect(properties=props(session_expiry_interval=0xFFFFFFFF)).bye()
    assert lab.hub.timers.next() is None
    lab.wait(1e10)
    assert lab.connect(clean_start=False).connack.session_present


def test_disconnect_may_change_how_long_the_session_lasts() -> None:
    lab = Lab()
    lab.connect(properties=props(session_expiry_interval=100)).bye(
        reason_code=0, properties=props(session_expiry_interval=0)
    )
    assert not lab.hub.sessions
    peer = lab.connect()
    answer = peer.ask(Disconnect(reason_code=0, properties=props(session_expiry_interval=5)))
    assert answer.reason_code == 0x82
    assert not lab.hub.sessions


def test_another_connection_takes_the_session_over() -> None:
    lab = Lab()
    old = lab.connect(properties=props(session_expiry_interval=9))
    old.subscribe("t")
    new = lab.connect(clean_start=False)
    assert new.connack.session_present
    disconnect = old.one(Disconnect)
    assert disconnect.reason_code == 0x8E
    assert old.over
    new.publish("t")
    assert [each.topic for each in new.messages()] == ["t"]
    assert old.send(Pingreq()).got() == []
    old.drop()
    assert new.ask(Pingreq()) == Pingresp()
    assert lab.kinds().count("disconnect") == 1


def test_an_old_client_that_is_taken_over_sees_only_the_close() -> None:
    lab = Lab()
    old = lab.connect(version=V311, clean_start=False)
    assert lab.connect(version=V311, clean_start=True).connack.session_present is False
    assert old.got() == []
    assert old.over


def test_the_reason_fits_the_clients_maximum_packet_size() -> None:
    peer = Lab().peer()
    given = props(maximum_packet_size=20, authentication_method="SCRAM")
    assert peer.ask(Connect(properties=given)) == Connack(reason_code=0x8C)
    peer = Lab().peer()
    assert peer.send(Connect(properties=props(maximum_packet_size=4, authentication_method="x"))).got() == []
    assert peer.over
    peer = Lab().peer()
    assert peer.send(Connect(client_id="c", properties=props(maximum_packet_size=4))).got() == []
    assert peer.over == "CONNACK is larger than the client's Maximum Packet Size"
    assert not peer.lab.hub.sessions


def test_packets_may_follow_at_once() -> None:
    peer = Lab().peer()
    peer.send(Connect(client_id="c"), Publish(topic="t"), Pingreq())
    assert [type(each) for each in peer.got()] == [Connack, Pingresp]

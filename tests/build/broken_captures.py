"""Ten captures in which something is wrong, each with its cause: what people send when they ask for help.

    python -m tests.build.broken_captures FOLDER

writes them as case-01.pcap to case-10.pcap.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mqttpub.codec.encode import encode
from mqttpub.common.times import SECOND_NS
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from mqttpub.spec.versions import Direction, Version
from tests.build.frames import LINKS, Wire, records
from tests.build.frames import pcap as file_of

V5, V311 = Version.V5, Version.V311
CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
START = 1_700_000_000 * SECOND_NS
TOPIC_ALIAS, TOPIC_ALIAS_MAXIMUM, RECEIVE_MAXIMUM = 0x23, 0x22, 0x21


class Said(NamedTuple):
    """What one end sent, and how long after what came before."""

    sender: Direction
    data: bytes
    after: float = 0.01


class Case(NamedTuple):
    """A capture and what is to be found in it."""

    cause: str
    """In words, for people."""
    statement: str
    """Id of the broken statement."""
    word: str
    """What the message about it says."""
    said: list[Said]


def c(packet: Packet | bytes, version: Version = V5, after: float = 0.01) -> Said:
    """Return what the client sent."""
    return Said(CLIENT, packet if isinstance(packet, bytes) else encode(packet, version), after)


def s(packet: Packet | bytes, version: Version = V5, after: float = 0.01) -> Said:
    """Return what the server sent."""
    return Said(SERVER, packet if isinstance(packet, bytes) else encode(packet, version), after)


def opening(version: Version = V5, *properties: Property, keep_alive: int = 60, name: str = "pump-3") -> list[Said]:
    """Return CONNECT and CONNACK."""
    return [
        c(Connect(client_id=name, keep_alive=keep_alive), version),
        s(Connack(reason_code=0, properties=properties), version),
    ]


def publish(qos: int = 0, packet_id: int | None = None, topic: str = "plant/4/temperature", **more: object) -> Publish:
    """Return an unremarkable PUBLISH."""
    return Publish(topic=topic, qos=qos, packet_id=packet_id, payload=b'{"t":21.5}', **more)  # type: ignore[arg-type]


def alias(number: int) -> tuple[Property, ...]:
    """Return the property Topic Alias."""
    return (Property(TOPIC_ALIAS, number),)


def cases() -> list[Case]:
    """Return the ten."""
    good = [c(publish(1, 1)), s(Puback(packet_id=1))]
    subscribe = Subscribe(packet_id=9, subscriptions=(Subscription(filter="plant/#", qos=1),))
    short = bytearray(encode(subscribe, V5))
    short[4] = 3
    longer = encode(publish(0), V5)
    return [
        Case("DUP is set on a QoS 0 message", "MQTT5-3.3.1-2", "DUP is 1",
             [*opening(), *good, c(publish(0, dup=True)), c(publish(0))]),
        Case("the client uses Topic Alias 11, the server allows 10", "MQTT5-3.2.2-17", "11",
             [*opening(V5, Property(TOPIC_ALIAS_MAXIMUM, 10)), c(publish(0, properties=alias(10))),
              c(publish(0, topic="plant/4/pressure", properties=alias(11))), s(Disconnect(reason_code=0x94))]),
        Case("a Topic Alias is used that was never set", "MQTT5-3.3.4/alias-unset", "Alias 2",
             [*opening(V5, Property(TOPIC_ALIAS_MAXIMUM, 10)), c(publish(0, properties=alias(1))),
              c(publish(0, topic="", properties=alias(2))), s(Disconnect(reason_code=0x82))]),
        Case("three messages at once, the server takes two", "MQTT5-3.3.4-7", "Receive Maximum",
             [*opening(V5, Property(RECEIVE_MAXIMUM, 2)), c(publish(1, 1)), c(publish(1, 2)), c(publish(1, 3)),
              s(Disconnect(reason_code=0x93))]),
        Case("the Property Length of SUBSCRIBE is wrong", "MQTT5-2.2.2.2/unknown", "ropert",
             [*opening(), *good, c(bytes(short)), s(Disconnect(reason_code=0x81))]),
        Case("the client was silent for 40 s, with a Keep Alive of 20 s", "MQTT5-3.1.2-20", "Keep Alive",
             [*opening(keep_alive=20), *good, c(publish(1, 2), after=40.0), s(Puback(packet_id=2))]),
        Case("a Remaining Length of more bytes than it needs", "MQTT5-1.5.5-1", "byte",
             [*opening(), *good, c(longer[:1] + bytes((longer[1] | 0x80, 0)) + longer[2:])]),
        Case("a wildcard in a Topic Name", "MQTT311-3.3.2-2", "#",
             [*opening(V311), c(publish(0), V311), c(publish(0, topic="plant/#"), V311)]),
        Case("the server answers another Packet Identifier than it was asked", "MQTT5-2.2.1-5", "78",
             [*opening(), *good, c(publish(1, 77)), s(Puback(packet_id=78)), c(publish(1, 77, dup=True), after=5.0),
              s(Puback(packet_id=78))]),
        Case("PUBREL is sent before PUBREC came", "MQTT5-4.3.3-3", "PUBREL",
             [*opening(), c(subscribe), s(Suback(packet_id=9, reason_codes=(1,))), c(publish(2, 5)),
              c(Pubrel(packet_id=5)), s(Pubrec(packet_id=5)), s(Pubcomp(packet_id=5))]),
    ]  # fmt: skip


def written(said: Iterable[Said]) -> bytes:
    """Return a conversation as a pcap file, with its handshake."""
    wire = Wire()
    packets, times = list(wire.opening()), [START, START, START]
    at, now = [0, 0], START
    for each in said:
        side = 0 if each.sender is CLIENT else 1
        now += int(each.after * SECOND_NS)
        packets.append(wire.packet(side, at[side], each.data, ack=at[1 - side]))
        times.append(now)
        at[side] += len(each.data)
    link = LINKS["Ethernet"]
    return file_of([record._replace(time_ns=time) for record, time in zip(records(packets, link), times, strict=True)])


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(cases(), 1):
        (folder / f"case-{number:02}.pcap").write_bytes(written(case.said))


if __name__ == "__main__":
    main()

"""A connection in which much is wrong, as captures."""

from mqttpub.codec.encode import encode
from mqttpub.common.times import SECOND_NS
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connack, Connect, Pingreq, Puback, Publish, Pubrec, Subscribe, Subscription
from mqttpub.spec.versions import Direction, Version
from tests.build.frames import ACK, FIN, MILLISECOND, START, Wire, pcap, records
from tests.lab.peer import props

Step = tuple[Direction, Packet | bytes]
C, S = Direction.CLIENT, Direction.SERVER
WRONG: list[Step] = [
    (C, Connect(client_id="sensor-17", username="me", password=b"secret")),
    (S, Connack(properties=props(receive_maximum=1, topic_alias_maximum=2))),
    (C, Publish(topic="a/b", payload=b"21.5", dup=True)),
    (C, Publish(topic="a/+", payload=b"x")),
    (C, Publish(topic="a", qos=1, packet_id=7, payload=b"one")),
    (C, Publish(topic="a", qos=1, packet_id=8, payload=b"two")),
    (S, Puback(packet_id=9)),
    (C, Publish(topic="", properties=props(topic_alias=5), payload=b"alias")),
    (S, Publish(topic="long", payload=b"y" * 200, properties=props(payload_format_indicator=3))),
    (C, Subscribe(packet_id=0, subscriptions=(Subscription(filter="x/#/y", qos=1),))),
    (S, bytes.fromhex("f0020000")),
    (S, Pubrec(packet_id=7)),
    (C, Pingreq()),
]
"""Packets of MQTT 5.0 and what is wrong with them: DUP, a wildcard, Receive Maximum, a Packet Identifier, aliases."""
FAULTS = {
    "MQTT5-3.3.1-2", "MQTT5-3.3.2-2", "MQTT5-3.3.4-7", "MQTT5-2.2.1-5", "MQTT5-2.2.2.2/range", "MQTT5-4.7.1-1",
}  # fmt: skip
"""Some of the statements that they break."""


def capture(
    steps: list[Step], *, version: Version = Version.V5, port: int = 50_000, closed: bool = True, silent_s: int = 0
) -> bytes:
    """Return a pcap file of a connection on Ethernet, a segment for each packet and a millisecond between them.

    The client closes first, after a silence.
    """
    wire, sent = Wire(port=port), [0, 0]
    packets = wire.opening()
    for direction, packet in steps:
        side = 0 if direction is C else 1
        data = packet if isinstance(packet, bytes) else encode(packet, version)
        packets.append(wire.packet(side, sent[side], data, ack=sent[1 - side]))
        sent[side] += len(data)
    said = records(packets)
    if closed:
        packets += [wire.packet(side, sent[side], flags=ACK | FIN, ack=sent[1 - side]) for side in (0, 1)]
    later = [
        each._replace(time_ns=(each.time_ns or 0) + silent_s * SECOND_NS) for each in records(packets)[len(said) :]
    ]
    return pcap([*said, *later])


def time_of(step: int) -> int:
    """Return when a packet was captured, in nanoseconds since 1970."""
    return START + (step + 4) * MILLISECOND

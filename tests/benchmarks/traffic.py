"""Captures for benchmarks, the same in every run, and tshark, which reads them too."""

import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connack, Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Direction, Version
from tests.build.frames import SentSegment, pcap_of

SEGMENT = 1448
"""Bytes of payload in a full segment."""
TSHARK = "tshark -n -r {} -Y mqtt -T fields -e mqtt.topic -e mqtt.msgid"


class Mix(NamedTuple):
    """What connections send, and in what segments."""

    connections: int
    messages: int
    """Messages of a connection that are sent before their acknowledgements come."""
    message: Callable[[int, bool], Publish]
    segments: Callable[[list[bytes]], Iterator[bytes]]


class Burst(NamedTuple):
    """What one end of a connection sends at a time."""

    connection: int
    direction: Direction
    packets: list[bytes]

    @property
    def version(self) -> Version:
        """The version of its connection: of four, one has MQTT 3.1.1."""
        return Version.V5 if self.connection % 4 else Version.V311


def bursts(packets: int, mix: Mix) -> Iterator[Burst]:
    """Yield bursts with so many packets or a few more."""
    made = 0
    for turn in count():
        for number in range(mix.connections):
            for direction, burst in _turn(number, turn, mix):
                sent = Burst(number, direction, [])
                sent.packets.extend(encode(packet, sent.version) for packet in burst)
                yield sent
                made += len(burst)
            if made >= packets:
                return


def write_pcap(path: Path, packets: int, mix: Mix) -> int:
    """Write a capture with so many packets or a few more; return how many."""
    written = 0

    def segments() -> Iterator[SentSegment]:
        nonlocal written
        for burst in bursts(packets, mix):
            written += len(burst.packets)
            yield from (SentSegment(burst.connection, burst.direction, each) for each in mix.segments(burst.packets))

    path.write_bytes(pcap_of(segments()))
    return written


def tshark(path: Path, *more: str) -> int:
    """Return how many topics tshark found."""
    command = [*TSHARK.format(path).split(), *more]
    lines = subprocess.run(command, check=True, capture_output=True).stdout.splitlines()
    return sum(len(line.split(b"\t")[0].split(b",")) for line in lines if not line.startswith(b"\t"))


def _turn(number: int, turn: int, mix: Mix) -> Iterator[tuple[Direction, list[Packet]]]:
    client, server = Direction.CLIENT, Direction.SERVER
    if turn == 0:
        yield client, [Connect(client_id=f"device-{number}", will=None)]
        yield server, [Connack()]
    first = turn * mix.messages
    sent = [mix.message(each, number % 4 > 0) for each in range(first, first + mix.messages)]
    answered = [(Puback if each.qos == 1 else Pubrec, each.packet_id or 0) for each in sent if each.qos]
    twice = [each.packet_id or 0 for each in sent if each.qos == 2]
    yield client, [*sent]
    yield server, [cls(packet_id=packet_id) for cls, packet_id in answered]
    yield client, [Pubrel(packet_id=packet_id) for packet_id in twice]
    yield server, [Pubcomp(packet_id=packet_id) for packet_id in twice]


def _message(number: int, properties: bool) -> Publish:
    return _message_of(number, (0, 1, 1, 1, 1, 2)[number % 6], number % 4 if properties else 0)


def _message_of_any_qos(number: int, properties: bool) -> Publish:
    return _message_of(number, number % 3, 3 if properties else 0)


def _message_of(number: int, qos: int, properties: int) -> Publish:
    found = (Property(0x02, 3600), Property(0x03, "application/json"), Property(0x26, ("trace", f"{number:08x}")))
    return Publish(
        qos=qos,
        topic=f"plant/{number % 7}/line/{number % 31}/temperature",
        packet_id=number % 0xFFFF + 1 if qos else None,
        properties=found[:properties],
        payload=b'{"value": %d, "unit": "C", "seq": %d, "quality": "good"}' % (number % 90, number),
    )


def _short_message(number: int, properties: bool) -> Publish:
    return Publish(
        qos=number % 2,
        topic=f"plant/{number % 7}/line/{number % 31}",
        packet_id=number % 0xFFFF + 1 if number % 2 else None,
        payload=b'{"value": %d, "unit": "C"}' % (number % 90 + number),
    )


def _message_with_many_properties(number: int, properties: bool) -> Publish:
    found = (
        Property(0x01, 1), Property(0x02, 3600), Property(0x03, "application/json"),
        Property(0x08, f"plant/{number % 7}/answers"), Property(0x09, number.to_bytes(8, "big")),
        Property(0x26, ("trace", f"{number:08x}")), Property(0x26, ("site", f"hall {number % 5}")),
        Property(0x26, ("unit", "C")),
    )  # fmt: skip
    return _message(number, properties).replace(properties=found if properties else ())


def _message_of_qos_1(number: int, properties: bool) -> Publish:
    return _short_message(2 * number + 1, properties)


def _segments(burst: list[bytes]) -> Iterator[bytes]:
    """Yield segments as captures have them: of ten packets seven alone, two together, one in two parts."""
    for at in range(0, len(burst), 10):
        ten = burst[at : at + 10]
        yield from ten[:7]
        if ten[7:9]:
            yield b"".join(ten[7:9])
        for split in ten[9:]:
            yield split[: len(split) // 2]
            yield split[len(split) // 2 :]


def _full_segments(burst: list[bytes]) -> Iterator[bytes]:
    """Yield segments as a sender makes them that has much to send."""
    stream = b"".join(burst)
    yield from (stream[at : at + SEGMENT] for at in range(0, len(stream), SEGMENT))


def _whole_packets(burst: list[bytes]) -> Iterator[bytes]:
    """Yield segments of as many packets as fit one."""
    waiting = b""
    for packet in burst:
        if waiting and len(waiting) + len(packet) > SEGMENT:
            yield waiting
            waiting = b""
        waiting += packet
    if waiting:
        yield waiting


MIXES = {
    "usual": Mix(32, 24, _message, _segments),
    "bulk": Mix(32, 2048, _short_message, _full_segments),
    "heavy": Mix(32, 24, _message_with_many_properties, _segments),
    "many": Mix(10_000, 1, _message_of_qos_1, iter),
}
TWO = Mix(2, 48, _message_of_any_qos, _whole_packets)
"""Two connections, one of MQTT 3.1.1 and one of 5.0."""

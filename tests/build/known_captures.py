"""Captures of which everything is known: each packet, each exchange, and what the network did to them.

    python -m tests.build.known_captures FOLDER [SEED [CONNECTIONS [MESSAGES [FILES]]]]

writes capture-000.pcap and so on, packets.jsonl and exchanges.jsonl.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from mqttpub.capture.types import CaptureRecord
from mqttpub.codec.encode import encode
from mqttpub.common.times import SECOND_NS
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import (  # fmt: skip
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)
from mqttpub.spec.versions import Direction, Version
from tests.build.frames import ACK, FIN, LINKS, PUSH, SYN, TIMESTAMPS, LinkLayer, ipv4, ipv6, pcap, tcp

TOPIC_ALIAS = 0x23
LARGEST = 1400
"""Bytes of the payload of a segment."""
CLIENT, SERVER = 0, 1
SIDES = (Direction.CLIENT, Direction.SERVER)
START = 1_700_000_000_000_000_000
MICROSECOND = 1000
MILLISECOND = 1000 * MICROSECOND


@dataclass
class Seen:
    """A packet as it was sent, and the record that holds its last byte."""

    connection: int
    sender: str
    offset: int
    version: int
    guessed: bool
    type: str
    topic: str | None
    """The one that is meant, whatever alias stands for it; None for other packets than PUBLISH."""
    data: str
    """Hexadecimal."""
    record: int = 0
    time: int = 0
    """Nanoseconds since 1970."""


@dataclass
class KnownExchange:
    """What became of a message with QoS 1 or 2."""

    connection: int
    sender: str
    packet_id: int
    qos: int
    topic: str | None
    outcome: str = "unfinished"
    """Or `complete`, or `superseded` where its Packet Identifier was used again before."""
    dups: int = 0
    packets: list[int] = field(default_factory=list)
    """Indices of its packets, in the order in which they were sent."""


@dataclass
class Truth:
    """Captures that follow one another, and what is in them."""

    files: list[bytes]
    packets: list[Seen]
    """In the order of the records, and then of the bytes."""
    exchanges: list[KnownExchange]
    """In the order in which they begin."""
    retransmitted: int = 0
    reordered: int = 0
    lost: int = 0
    """Acknowledgements that never came."""


@dataclass
class _Sent:
    """A segment on its way."""

    time: int
    connection: "_Connection"
    side: int
    at: int
    data: bytes
    flags: int = ACK | PUSH
    acked: int = 0


class _Connection:
    """A conversation, and its streams."""

    def __init__(self, number: int, random: Random, *, whole: bool) -> None:
        self.number = number
        self.random = random
        self.whole = whole
        """Whether the capture holds its beginning."""
        self.version = random.choice((Version.V311, Version.V5))
        self.internet = random.choice((4, 4, 6))
        self.isn = (random.getrandbits(32), random.getrandbits(32))
        self.options = random.choice((b"", TIMESTAMPS))
        low = number.to_bytes(2, "big")
        self.ends = (b"\x0a\0" + low, b"\x0a\1\0\1") if self.internet == 4 else (bytes(14) + low, bytes(15) + b"\1")
        self.ports = (40_000 + number, 1883)
        self.streams = (bytearray(), bytearray())
        self.flushed = [0, 0]
        self.rows: list[Seen] = []
        self.exchanges: list[KnownExchange] = []
        self.ends_at: list[tuple[int, Seen]] = []
        self.segments: list[_Sent] = []
        self.ids = [0, 0]
        self.aliases: list[dict[str, int]] = [{}, {}]
        self.lost = 0

    # what is said

    def say(self, time: int, side: int, packet: Packet, topic: str | None = None) -> int:
        """Send a packet and return the index of its row."""
        return self._say(time, side, encode(packet, self.version), type(packet).name, topic)

    def _say(self, time: int, side: int, data: bytes, name: str, topic: str | None) -> int:
        # What was asked is answered when all of it has come.
        self.flush(time, 1 - side)
        stream = self.streams[side]
        row = Seen(
            self.number, SIDES[side].value, len(stream), self.version, not self.whole, name, topic, data.hex()
        )  # fmt: skip
        stream.extend(data)
        self.rows.append(row)
        self.ends_at.append((side, row))
        self._cut(time, side)
        return len(self.rows) - 1

    def _cut(self, time: int, side: int) -> None:
        """Put bytes into segments: mostly at once, sometimes later with others, sometimes but a part of them."""
        way, left = self.random.random(), len(self.streams[side]) - self.flushed[side]
        if not self.whole and len(self.rows) < 30:
            # What is whole in the beginning is found for certain.
            self.flush(time, side)
        elif way < 0.15:
            return
        elif way < 0.3:
            self._send(time, side, self.random.randint(1, min(left, LARGEST)))
        else:
            self.flush(time, side)

    def flush(self, time: int, side: int) -> None:
        """Send what was held."""
        while left := len(self.streams[side]) - self.flushed[side]:
            self._send(time, side, min(left, LARGEST))

    def _send(self, time: int, side: int, count: int) -> None:
        at = self.flushed[side]
        self.flushed[side] = at + count
        data = bytes(self.streams[side][at : at + count])
        self.segments.append(_Sent(time, self, side, at, data, acked=self.flushed[1 - side]))

    def talk(self, messages: int) -> None:
        """Have a conversation."""
        random, time = self.random, START + random_time(self.random)
        self.say(time, CLIENT, Connect(client_id=f"client-{self.number}"))
        self.say(time + MILLISECOND, SERVER, Connack())
        begun = (len(self.streams[0]), len(self.streams[1]))
        self.flush(time + MILLISECOND, SERVER)
        later: list[tuple[int, int, KnownExchange, int]] = []
        for _ in range(messages):
            time += random.randint(1, 40) * MILLISECOND
            for due in [each for each in later if each[0] <= time]:
                later.remove(due)
                self._again(due[0], *due[1:])
            self._message(time, later)
        for due in later:
            self._again(time := time + MILLISECOND, *due[1:])
        for side in (CLIENT, SERVER):
            self.flush(time, side)
        if random.random() < 0.6:
            self.say(time := time + MILLISECOND, CLIENT, Disconnect())
            self.flush(time, CLIENT)
            self._close(time)
        if not self.whole:
            self._forget(begun)

    def _message(self, time: int, later: list[tuple[int, int, KnownExchange, int]]) -> None:
        random = self.random
        side, qos = random.randrange(2), random.choice((0, 0, 1, 1, 2))
        if random.random() < 0.05:
            self.say(time, CLIENT, Pingreq())
            self.say(time + MILLISECOND, SERVER, Pingresp())
            return
        chance = random.random()
        # What is sent again means its topic by name, as an alias may stand for another by then.
        topic, sent, properties = self._topic(side, named=chance < 0.05)
        payload = json.dumps({"t": time // SECOND_NS, "v": "x" * random.choice((0, 3, 40, 150, 3000))}).encode()
        publish = Publish(topic=sent, qos=qos, payload=payload)
        if properties:
            publish.properties = properties
        if not qos:
            self.say(time, side, publish, topic)
            return
        # Few Packet Identifiers, so that they come again, now and then while one is in use.
        self.ids[side] = self.ids[side] % 40 + 1
        publish.packet_id = self.ids[side]
        exchange = KnownExchange(self.number, SIDES[side].value, publish.packet_id, qos, topic)
        self._supersede(exchange)
        self.exchanges.append(exchange)
        index = self.say(time, side, publish, topic)
        exchange.packets.append(index)
        if chance < 0.1:
            self.lost += 1
        if chance < 0.05:
            later.append((time + SECOND_NS // 10, side, exchange, index))
        if chance >= 0.1:
            self._acknowledge(time + MILLISECOND, side, exchange)

    def _supersede(self, exchange: KnownExchange) -> None:
        for earlier in self.exchanges:
            same = (earlier.sender, earlier.packet_id) == (exchange.sender, exchange.packet_id)
            if same and earlier.outcome == "unfinished":
                earlier.outcome = "superseded"

    def _again(self, time: int, side: int, exchange: KnownExchange, index: int) -> None:
        """Send a PUBLISH again, with DUP, unless its Packet Identifier has been used for another."""
        if exchange.outcome != "unfinished":
            return
        row = self.rows[index]
        data = bytes.fromhex(row.data)
        again = self._say(time, side, bytes([data[0] | 8]) + data[1:], row.type, row.topic)
        exchange.dups += 1
        exchange.packets.append(again)
        self._acknowledge(time + MILLISECOND, side, exchange)

    def _acknowledge(self, time: int, side: int, exchange: KnownExchange) -> None:
        number = exchange.packet_id
        answers: list[tuple[int, Packet]] = [(1 - side, Puback(packet_id=number))]
        if exchange.qos == 2:
            answers = [
                (1 - side, Pubrec(packet_id=number)), (side, Pubrel(packet_id=number)),
                (1 - side, Pubcomp(packet_id=number)),
            ]  # fmt: skip
        for end, packet in answers:
            exchange.packets.append(self.say(time, end, packet))
            time += MILLISECOND
        exchange.outcome = "complete"

    def _topic(self, side: int, *, named: bool) -> tuple[str, str, tuple[Property, ...]]:
        """Return the topic that is meant, the one that is sent, and properties."""
        topic = f"site/{self.random.randrange(9)}/temperature"
        if named or self.version < Version.V5 or self.random.random() < 0.5:
            return topic, topic, ()
        known = self.aliases[side]
        if topic in known and self.random.random() < 0.8:
            return topic, "", (Property(TOPIC_ALIAS, known[topic]),)
        number = known.setdefault(topic, len(known) % 5 + 1)
        for other in [name for name, alias in known.items() if alias == number and name != topic]:
            del known[other]
        return topic, topic, (Property(TOPIC_ALIAS, number),)

    def _close(self, time: int) -> None:
        for side in (CLIENT, SERVER):
            at = len(self.streams[side])
            self.segments.append(_Sent(time, self, side, at, b"", FIN | ACK, acked=len(self.streams[1 - side])))

    def _forget(self, begun: tuple[int, int]) -> None:
        """Leave out CONNECT and CONNACK, as they were sent before the capture began."""
        self.segments = [each for each in self.segments if each.at >= begun[each.side]]
        self.rows = self.rows[2:]
        self.ends_at = self.ends_at[2:]
        for side, row in self.ends_at:
            row.offset -= begun[side]
        for exchange in self.exchanges:
            exchange.packets = [index - 2 for index in exchange.packets]

    # what the network does

    def delivered(self) -> tuple[list[_Sent], int, int]:
        """Return segments as they were captured, and how many were sent again or came out of order."""
        random, found, again, swapped = self.random, list(self.segments), 0, 0
        # Where nobody saw a stream begin, it begins with what comes first.
        index = 2 if self.whole else 20
        while index + 1 < len(found):
            one, other = found[index], found[index + 1]
            if one.side == other.side and one.data and other.data and random.random() < 0.2:
                times = one.time, other.time
                found[index], found[index + 1] = other, one
                other.time, one.time = times
                swapped += 1
                index += 1
            index += 1
        for one in random.sample(found, len(found) // 20):
            if one.data and one.at > begin_of(found, one.side):
                early = random.choice((0, 0, 1, 5))
                at = max(one.at - early, begin_of(found, one.side))
                stream = self.streams[one.side]
                copy = _Sent(one.time + 5 * MILLISECOND, self, one.side, at, bytes(stream[at : one.at + len(one.data)]))
                copy.acked = one.acked
                place = found.index(one) + random.choice((1, 1, 4))
                found.insert(place, copy)
                again += 1
        return found, again, swapped

    def frame(self, segment: _Sent) -> bytes:
        """Return the IP packet of a segment."""
        side = segment.side
        ports = self.ports if side == CLIENT else self.ports[::-1]
        ends = self.ends if side == CLIENT else self.ends[::-1]
        ack = self.isn[1 - side] + 1 + segment.acked if segment.flags & ACK else 0
        seq = self.isn[side] + 1 + segment.at
        payload = tcp(ports, seq, ack, segment.flags, segment.data, options=self.options)
        return (ipv4 if self.internet == 4 else ipv6)(ends, payload)

    def opening(self) -> Iterator[_Sent]:
        """Yield the three-way handshake."""
        time = self.segments[0].time if self.segments else START
        yield _Sent(time, self, CLIENT, -1, b"", SYN)
        yield _Sent(time, self, SERVER, -1, b"", SYN | ACK)
        yield _Sent(time, self, CLIENT, 0, b"", ACK)


def begin_of(segments: list[_Sent], side: int) -> int:
    """Return where the captured bytes of a side begin."""
    return min(each.at for each in segments if each.side == side)


def random_time(random: Random) -> int:
    """Return a time within the first second."""
    return random.randrange(1000) * MILLISECOND


def truth(
    seed: int, *, connections: int = 6, messages: int = 60, files: int = 1, midstream: bool = True,
    link: LinkLayer = LINKS["Ethernet"],
) -> Truth:  # fmt: skip
    """Return captures that follow from a seed."""
    random = Random(seed)
    result = Truth([], [], [])
    queues: list[list[_Sent]] = []
    talks: list[_Connection] = []
    for number in range(connections):
        talk = _Connection(number, random, whole=not midstream or number % 4 != 3)
        talk.talk(messages)
        found, again, swapped = talk.delivered()
        result.retransmitted += again
        result.reordered += swapped
        result.lost += talk.lost
        queues.append([*talk.opening(), *found] if talk.whole else found)
        talks.append(talk)
    _number(result, talks, list(_merged(queues, random)), files, random, link)
    return result


def _merged(queues: list[list[_Sent]], random: Random) -> Iterator[_Sent]:
    """Take from all connections in turn, of each in order, with pure acknowledgements between."""
    heads = [iter(queue) for queue in queues]
    next_ones = [next(head, None) for head in heads]
    clock = START
    while any(next_ones):
        index = random.choice([number for number, each in enumerate(next_ones) if each])
        sent = next_ones[index]
        assert sent
        clock += random.randint(1, 900) * MICROSECOND
        yield _Sent(clock, sent.connection, sent.side, sent.at, sent.data, sent.flags, sent.acked)
        next_ones[index] = next(heads[index], None)


def _number(
    result: Truth, talks: list[_Connection], merged: list[_Sent], files: int, random: Random, link: LinkLayer
) -> None:
    """Write the records and find out which holds the last byte of each packet."""
    holders: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    written = []
    for number, sent in enumerate(merged, start=1):
        frame = link.frame(sent.connection.frame(sent))
        written.append(CaptureRecord(number, sent.time, link.type, frame, len(frame)))
        if sent.data:
            place = sent.at, sent.at + len(sent.data), number, sent.time
            holders.setdefault((sent.connection.number, sent.side), []).append(place)
    for talk in talks:
        base = len(result.packets)
        for side, row in talk.ends_at:
            skipped = 0 if talk.whole else begin_of(talk.segments, side)
            last = skipped + row.offset + len(row.data) // 2 - 1
            holder = (each for each in holders[talk.number, side] if each[0] <= last < each[1])
            _, _, row.record, row.time = next(holder)
        result.packets += talk.rows
        for exchange in talk.exchanges:
            exchange.packets = [base + index for index in exchange.packets]
        result.exchanges += talk.exchanges
    _sort(result)
    result.files = _files(written, files, random, link)


def _sort(result: Truth) -> None:
    order = sorted(range(len(result.packets)), key=lambda index: (result.packets[index].record, index))
    rank = {old: new for new, old in enumerate(order)}
    result.packets = [result.packets[index] for index in order]
    for exchange in result.exchanges:
        exchange.packets = [rank[index] for index in exchange.packets]
    result.exchanges.sort(key=lambda exchange: exchange.packets[0])


def _files(written: list[CaptureRecord], files: int, random: Random, link: LinkLayer) -> list[bytes]:
    """Cut a capture into files anywhere."""
    cuts = sorted(random.sample(range(1, len(written)), files - 1))
    return [pcap(written[start:stop], link.type) for start, stop in zip([0, *cuts], [*cuts, len(written)], strict=True)]


def write(result: Truth, folder: Path) -> list[Path]:
    """Write captures and what is in them to a folder, and return the paths of the captures."""
    paths = []
    for number, data in enumerate(result.files):
        paths.append(folder / f"capture-{number:03}.pcap")
        paths[-1].write_bytes(data)
    for name, rows in (("packets", result.packets), ("exchanges", result.exchanges)):
        lines = "".join(json.dumps(asdict(row)) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return paths


if __name__ == "__main__":
    seed, connections, messages, files = [*map(int, sys.argv[2:]), *(1, 6, 60, 1)[len(sys.argv) - 2 :]]
    write(truth(seed, connections=connections, messages=messages, files=files), Path(sys.argv[1]))

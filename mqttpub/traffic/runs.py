"""Consecutive packets of one end without findings, as columns: most packets of a long capture.

A run stands for packets in context that differ in few values, and lets a view show them without an object for each.
"""

from collections.abc import Iterable, Iterator
from operator import add, sub
from typing import Any, NamedTuple

from ..codec.fast_decode import multi_byte, reader
from ..codec.framing import publish_head
from ..spec.packets import Publish
from ..spec.versions import Direction, Version
from .aliases import Topic
from .context import PacketInContext, TrafficItem
from .events import Endpoints, Event, PacketSeen

PUBLISHES = bytes(range(Publish.code << 4, (Publish.code + 1) << 4))
"""The first bytes that a PUBLISH may have."""
LONGEST_RUN = 512
"""Packets of a run at most: a block of a capture may hold 200,000, whose lines take 60 MB."""


class RunArrays(NamedTuple):
    """Some columns as numpy arrays with one element for each packet, and what says more than a column."""

    time_ns: Any
    first: Any
    packet_id: Any
    begin: Any
    payload_begin: Any
    end: Any
    """Where each packet ends in the buffer."""
    topic: Any
    """Of a PUBLISH, the number of its Topic Name in `names`; 0 for acks."""
    reason: Any
    """Of an ack, its Reason Code; -1 if it has none, and for a PUBLISH."""
    names: list[str]
    """Columns with the same list have the same numbers."""


class RunColumns:
    """Values of packets in order of arrival; `first` and every list have one element for each packet.

    From `packet_id` on, only the values of packets that are in a run have a meaning.
    """

    buffer: bytes
    """Holds the bytes of all packets."""
    first: bytes
    """The first byte of each packet."""
    arrays: RunArrays | None = None
    properties: tuple[bytes, list[int]] | None = None
    """The Identifiers of the properties of all packets, and where those of each begin, with the end at last; None if
    they have to be read."""
    begin: list[int]
    """Where each packet begins in `buffer`."""
    size: list[int]
    """Bytes of the packet."""
    time_ns: list[int | None]
    """Nanoseconds since 1970, of the record that completed the packet; None if unknown."""
    record: list[int]
    """Number of that record, from 1."""
    offset: list[int]
    """Offset of the packet in the bytes of its direction."""
    packet_id: list[int]
    """Packet Identifier; 0 for a PUBLISH of QoS 0."""
    topic: list[str]
    """Topic Name of a PUBLISH; empty for acks."""
    payload_begin: list[int]
    """Where the payload of a PUBLISH begins in `buffer`, and an ack ends; it reaches to the end of the packet."""
    reason: list[int | None]
    """Reason Code of an ack; None if it has none, and for a PUBLISH."""

    def time_span(self, start: int, stop: int) -> tuple[int, int] | None:
        """Return the earliest and the latest time of some rows, at least one; None if a time is unknown."""
        some: list[Any] = self.time_ns[start:stop]
        return None if None in some else (min(some), max(some))

    def packet(
        self, row: int, ends: Endpoints, direction: Direction | None, version: Version, guessed: bool
    ) -> PacketSeen:  # fmt: skip
        """Return one packet; the arguments are what the columns do not have."""
        begin = self.begin[row]
        data = self.buffer[begin : begin + self.size[row]]
        return PacketSeen(
            ends, self.time_ns[row], self.record[row], data, self.offset[row], direction, version, guessed
        )


class PacketRun(NamedTuple):
    """The packets from `start` to before `stop` of some columns, from 1 to LONGEST_RUN.

    Each is a PUBLISH without DUP and without a Topic Alias, or a PUBACK, PUBREC, PUBREL or PUBCOMP without properties.
    None has a finding by itself, and in what is shown none at all. The other members hold for all of them, and mean
    what they mean in a PacketInContext; before the packets are judged, `client` is empty.
    """

    columns: RunColumns
    start: int
    stop: int
    ends: Endpoints
    direction: Direction
    version: Version
    guessed: bool
    client: str

    def between(self, start: int, stop: int) -> "PacketRun":
        """Return the packets of some rows of the columns."""
        if start == self.start and stop == self.stop:
            return self
        return self._replace(start=start, stop=stop)

    def of_client(self, name: str) -> "PacketRun":
        """Return the same packets with the name of the client."""
        return self._replace(client=name)

    def events(self) -> Iterator[PacketSeen]:
        """Yield the packets one by one."""
        columns, start, stop, ends, direction, version, guessed, _ = self
        return (columns.packet(row, ends, direction, version, guessed) for row in range(start, stop))

    def items(self) -> Iterator[PacketInContext]:
        """Yield the packets one by one, as they are judged and shown."""
        columns, version, client = self.columns, self.version, self.client
        for row, event in enumerate(self.events(), self.start):
            data = event.data
            packet = reader(data[0] >> 4, version)(data, data[0], multi_byte(data, 1)[1], len(data))
            topic = Topic(columns.topic[row]) if type(packet) is Publish else None
            yield PacketInContext(event, packet, topic, client, ())

    def has_properties(self, row: int) -> bool:
        """Whether the packet of a row, a PUBLISH, has properties."""
        if self.version is not Version.V5:
            return False
        _, _, id_end, payload_begin = publish_head(self.columns.buffer, self.version, self.columns.begin[row])
        return payload_begin > id_end + 1

    def property_ids(self) -> bytes:
        """Return the Identifiers of all properties of the packets."""
        properties = self.columns.properties
        if properties is not None:
            ids, begins = properties
            return ids[begins[self.start] : begins[self.stop]]
        firsts = self.columns.first
        rows = (row for row in range(self.start, self.stop) if firsts[row] >> 4 == Publish.code)
        packets: Iterator[Any] = (self.item(row).packet for row in rows if self.has_properties(row))
        return bytes(id for packet in packets for id, _ in packet.properties)

    def payload_sizes(self) -> list[int]:
        """Return the bytes of the payload of each packet; 0 for an ack."""
        columns, rows = self.columns, slice(self.start, self.stop)
        ends = map(add, columns.begin[rows], columns.size[rows])
        return list(map(sub, ends, columns.payload_begin[rows]))

    def payloads(self, sizes: list[int], most: int) -> list[bytes]:
        """Return the first `most` bytes of the payload of each packet, which have these sizes."""
        longest = max(sizes)
        if not longest:
            return [b""] * len(sizes)
        if longest > most:
            sizes = [min(size, most) for size in sizes]
        columns = self.columns
        buffer = columns.buffer
        starts = columns.payload_begin[self.start : self.stop]
        return [buffer[at : at + size] for at, size in zip(starts, sizes, strict=True)]

    def item(self, row: int) -> PacketInContext:
        """Return the packet of a row of the columns."""
        return next(self.between(row, row + 1).items())


RunOrEvent = Event | PacketRun
"""What a capture holds: many packets in runs, all others and the other events as they are."""
RunOrItem = TrafficItem | PacketRun
"""What a view of runs shows: most packets in runs, the others in context, and the other events as they are."""


def items_of(events: Iterable[RunOrItem]) -> Iterator[TrafficItem]:
    """Yield events with the packets of each run one by one."""
    for event in events:
        if isinstance(event, PacketRun):
            yield from event.items()
        else:
            yield event


def ends_of(event: RunOrItem) -> Endpoints:
    """Return the connection of packets or of another event."""
    return event.event.ends if isinstance(event, PacketInContext) else event.ends

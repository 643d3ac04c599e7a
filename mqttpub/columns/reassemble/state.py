"""What is known of all connections between two blocks of a capture; it can be pickled."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any

from ...capture.network.tcp import Reassembler
from ...capture.network.tcp_side import Segment, TcpSide
from ...capture.protocol.demux import MqttDemux
from ...capture.protocol.handler import SkippedConnections
from ...capture.types import CaptureRecord, Piece
from ...codec.stream import MAX_PACKET
from ...spec.versions import Version
from ...traffic.events import Event
from ..scan.buckets import Bucket

UNUSED_KEYS = "it holds keys for TLS, which are not used for tables: data sent over TLS is not in them"
MAX_FLOWS = 1 << 16
"""TCP connections that are remembered, if nothing else is set: more than a view remembers."""
SOURCE_BITS = 32
"""Bits of a record number that count within a source, where those above say which source it is."""
FORGET_AT = 1024
"""Names of ended connections that may remain before they are looked for and forgotten."""


class State:
    """Reads the records of one capture after another as if they were one.

    It holds open connections, incomplete packets, and segments that wait for earlier ones; all of these have bounds.
    After pickling and unpickling it continues as before.

    `bucket`, (k, n), selects the k-th of n parts of all connections. `shares`, from `balance.shares`, says which
    connections are in which part; it must be the same for all n parts and from the first capture to the last.
    """

    def __init__(
        self, *, ports: Iterable[int] = (), version: Version | None = None, max_packet: int = MAX_PACKET,
        bucket: tuple[int, int] = (0, 1), shares: bytes = b"", max_flows: int = MAX_FLOWS,
    ) -> None:  # fmt: skip
        self.bucket = Bucket(*bucket, shares)
        self.max_packet = max_packet
        self.reassembler = BucketReassembler(self.bucket, max_flows)
        self.streams = MqttDemux(ports=ports, version=version, max_packet=max_packet)
        self.records = 0
        """Number of records read so far."""
        self.before = 0
        """How many of them came from sources before the current one."""
        self.secrets: Counter[str] = Counter()
        """Number of key lines that the captures hold, by kind; the keys are not used."""
        self._keys = 0

    @property
    def skipped(self) -> SkippedConnections:
        """Number of records and connections that were not MQTT so far, by reason."""
        return self.streams.skipped

    def left_out(self) -> str:
        """Return a remark about what was not read of the captures since the last call, or an empty string."""
        keys, self._keys = self._keys, self.secrets["TLS key log"]
        return UNUSED_KEYS if self._keys > keys else ""

    def feed(self, record: CaptureRecord) -> Iterator[Event]:
        """Read one record and yield the events that it completes."""
        for piece in self.reassembler.feed(record):
            yield from self.streams.feed(piece)

    def follow(self, key: bytes, segment: Segment) -> Iterator[Event]:
        """Read one segment and yield the events that it completes; `key` has addresses and ports of its sender."""
        for piece in self.reassembler.follow(key, segment):
            yield from self.streams.feed(piece)

    def finish(self) -> Iterator[Event]:
        """Yield the events of the end of the last capture."""
        for piece in self.reassembler.finish():
            yield from self.streams.feed(piece)
        yield from self.streams.finish()

    def name(self, number: int) -> str:
        """Return the name of a connection: its ends, and record and time of its beginning.

        The name does not depend on how the records are divided into blocks and buckets.
        """
        return self.reassembler.names[number]

    def divide(self, number: int, parts: int) -> Callable[[str], bool]:
        """Keep the connections of one of the smaller buckets that this bucket is divided into.

        Returns whether a connection is kept, by its name; one that is not known here is kept by the first of them.
        """
        before, self.bucket = self.bucket, Bucket(number, parts)
        self.reassembler.bucket = self.bucket
        names = self.reassembler.names
        for piece in self.reassembler.forget_others():
            for _ in self.streams.feed(piece):
                # The bucket that has the connection goes on with it.
                continue
        own = {names[each] for each in self.reassembler.flows.numbers()}
        others = set(names.values()) - own
        return (lambda name: name not in others) if number == before.number else own.__contains__

    def forget(self) -> None:
        """Forget the names of connections that have ended."""
        names, flows = self.reassembler.names, self.reassembler.flows
        if len(names) > 2 * len(flows) + FORGET_AT:
            for number in names.keys() - flows.numbers() - set(self.streams.numbers()):
                del names[number]


class BucketReassembler(Reassembler):
    """Knows only the connections of one bucket, and gives them names."""

    def __init__(self, bucket: Bucket, max_flows: int) -> None:
        super().__init__(max_flows=max_flows)
        self.bucket = bucket
        self.names: dict[int, str] = {}
        self.before: Mapping[int, int] = {}
        """Number of records before those of a source, by the upper 32 bits of their numbers."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "before": {}}

    def forget_others(self) -> Iterator[Piece]:
        """Yield the ends of the connections that are not in the bucket."""
        for side in self.flows.outside(self.bucket.holds):
            yield from self._forget(side)

    def _side(self, key: bytes, segment: Segment) -> Generator[Piece, None, TcpSide | None]:
        if not self.bucket.holds(key):
            return None
        return (yield from super()._side(key, segment))

    def _begin(self, key: bytes, segment: Segment) -> TcpSide | None:
        side = super()._begin(key, segment)
        if side:
            when = "" if segment.time_ns is None else f"@{segment.time_ns}"
            number = self.before.get(segment.record >> SOURCE_BITS, 0) + (segment.record & (1 << SOURCE_BITS) - 1)
            self.names[side.flow.number] = f"{'-'.join(side.flow.ends)}#{number}{when}"
        return side

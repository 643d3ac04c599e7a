"""The packets that take part in exchanges, as columns of numbers and texts."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...spec.declare import Packet
from ...spec.packets import Connack, Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Subscribe, Unsuback, Unsubscribe
from ...spec.reason_codes import FAILURE
from ..arrays import NO_TIME, Mask, Rows
from ..arrow import encoded, numbers, replaced, values
from ..reassemble.frames import NONE
from ..schema import PACKETS
from .sessions import SessionEvent, UnfinishedMessage

CODES = 16
ACKS = (Puback, Pubrec, Pubrel, Pubcomp)
SUBSCRIBING = (Subscribe, Suback, Unsubscribe, Unsuback)
_OTHER = np.array([1, 0, 2])
SENDERS = ("client", "server", None)
TEXTS = (
    "capture", "connection", "client_id", "client_address", "client_port", "server_address", "server_port", "version",
    "resolved_topic", "filters",
)  # fmt: skip
"""The columns that an exchange has from its first packet."""
_READ = ("time", "dup", "direction", "reason_code", "reason_codes", "payload_bytes", "frame", "pos", *TEXTS)
"""The columns of a packet that takes part, beside those that decide whether it does."""


def kinds(*packets: type[Packet]) -> Mask:
    """Return for each packet type, 0 to 15, whether it is one of these (bool, shape (16,))."""
    found: Mask = np.isin(np.arange(CODES), [cls.code for cls in packets])
    return found


_PAIRED, _ACK = kinds(Publish, *ACKS, *SUBSCRIBING), kinds(*ACKS)
_ANSWER = kinds(Puback, Pubrec, Pubcomp, Suback, Unsuback)
"""Packets whose sender is not the sender of the exchange."""
_OF_SEVERAL = kinds(Suback, Unsuback)


@dataclass(frozen=True)
class HandshakePackets:
    """Packets of exchanges; all arrays have one element for each packet."""

    numbers: dict[str, NDArray[np.int64]]
    """`code`, `qos`, `dup`, `packet_id`, `sender` (index into SENDERS), `reason`, `variant`, `size` (of the payload),
    `time` (microseconds), `frame`, `pos`; `packets` and `dups`: how many packets, and with DUP, it stands for."""
    texts: dict[str, pa.Array]

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        """Return numbers by name."""
        return self.numbers[name]

    @property
    def count(self) -> int:
        """Number of packets."""
        return len(self.numbers["code"])

    def take(self, rows: Rows, names: Iterable[str] = TEXTS) -> "HandshakePackets":
        """Return some of the packets, with the texts of these names."""
        places = numbers(rows)
        texts = {name: self.texts[name].take(places) for name in names}
        return HandshakePackets({name: column[rows] for name, column in self.numbers.items()}, texts)

    def compact(self) -> "HandshakePackets":
        """Return the same, with dictionaries of only the texts that occur."""
        texts = {name: each.cast(pa.string()).dictionary_encode() if pa.types.is_dictionary(each.type) else each
                 for name, each in self.texts.items()}  # fmt: skip
        return HandshakePackets(self.numbers, texts)

    def joined(self, more: "HandshakePackets") -> "HandshakePackets":
        """Return these packets followed by others."""
        if not self.count:
            return more
        return HandshakePackets(
            {name: np.concatenate((column, more[name])) for name, column in self.numbers.items()},
            {name: pa.concat_arrays((column, more.texts[name])) for name, column in self.texts.items()},
        )


def handshake_packets(packets: pa.RecordBatch) -> HandshakePackets:
    """Return the packets that take part in exchanges: those with a Packet Identifier, and not QoS 3."""
    if not len(packets):
        return no_handshake_packets()
    code, qos = integers(packets["type_code"]), integers(packets["qos"])
    packet_id = integers(packets["packet_id"])
    known = _PAIRED[code]
    rows = np.flatnonzero(known & (packet_id != NONE) & ((code != Publish.code) | (qos == 1) | (qos == 2)))
    packets = packets.select(_READ)
    packets = packets.take(numbers(rows)) if len(rows) < len(code) else packets
    return _numbers_and_texts(packets, {"code": code[rows], "qos": qos[rows], "packet_id": packet_id[rows]})


def _numbers_and_texts(packets: pa.RecordBatch, known: dict[str, NDArray[np.int64]]) -> HandshakePackets:
    code = known["code"]
    time = packets["time"]
    dup = integers(pc.fill_null(packets["dup"], False))
    side, words = encoded(packets["direction"])
    direction = np.array([*(SENDERS.index(word) for word in words), SENDERS.index(None)])[side]
    reason = _reasons(packets, code)
    filters = integers(pc.list_value_length(packets["filters"]), 0)
    found = {
        **known,
        "dup": dup,
        "sender": np.where(_ANSWER[code], _OTHER[direction], direction),
        "reason": reason,
        "variant": np.where(code == Pubrec.code, reason >= FAILURE, filters > 0).astype(np.int64),
        "size": integers(packets["payload_bytes"]),
        "time": integers(time.cast(pa.int64()), NO_TIME),
        "frame": integers(packets["frame"]),
        "pos": integers(packets["pos"]),
        "packets": np.ones(len(code), np.int64),
        "dups": dup,
        "resumed": np.zeros(len(code), np.int64),
    }
    return HandshakePackets(found, {name: _text(packets[name]) for name in TEXTS})


def _text(column: pa.Array) -> pa.Array:
    """Return a column of texts as a dictionary, others as they are."""
    return column.dictionary_encode() if pa.types.is_string(column.type) else column


@cache
def no_handshake_packets() -> HandshakePackets:
    """Return an empty set of packets."""
    none = pa.RecordBatch.from_arrays([pa.nulls(0, each.type) for each in PACKETS], schema=PACKETS)
    return _numbers_and_texts(none, dict.fromkeys(("code", "qos", "packet_id"), np.zeros(0, np.int64)))


def resuming(legs: HandshakePackets, found: dict[int, UnfinishedMessage]) -> HandshakePackets:
    """Return the packets, those in `found` marked as resuming a message; an ack gets its topic and size."""
    known, texts = {**legs.numbers}, {**legs.texts}
    rows = np.array(sorted(found), np.int64)
    acks = rows[legs["code"][rows] != Publish.code]
    known["resumed"], known["size"] = known["resumed"].copy(), known["size"].copy()
    known["resumed"][rows] = 1
    known["size"][acks] = [found[row].size for row in acks.tolist()]
    topics = [found[row].topic for row in acks.tolist()]
    texts["resolved_topic"] = replaced(texts["resolved_topic"], acks, topics)
    return HandshakePackets(known, texts)


def forgetting(packets: pa.RecordBatch) -> list[SessionEvent]:
    """Return each CONNACK that says that the server has no session of the client (Session Present 0)."""
    rows = np.flatnonzero(values(packets["type_code"]) == Connack.code)
    if not len(rows):
        return []
    asked = ["frame", "pos", "client_id", "reason_code", "session_present"]
    columns = (column.to_pylist() for column in packets.select(asked).take(numbers(rows)))
    return [SessionEvent(frame, False, pos, client, -1, 0, Connack.code)
            for frame, pos, client, reason, present in zip(*columns, strict=True)
            if client and reason is not None and not present]  # fmt: skip


def _reasons(packets: pa.RecordBatch, code: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the Reason Codes of acks, the highest of several in one ack, NONE for other packets."""
    reason = np.where(_ACK[code], integers(packets["reason_code"]), NONE)
    several = np.flatnonzero(_OF_SEVERAL[code])
    if not len(several):
        return reason
    lists = packets["reason_codes"].take(numbers(several)).to_pylist()
    reason[several] = [max(codes or (), default=NONE) for codes in lists]
    return reason


def integers(column: pa.Array, none: int = NONE) -> NDArray[np.int64]:
    """Return a column of numbers or flags as int64, `none` for null."""
    column = column.cast(pa.int64())
    return values(column.fill_null(none) if column.null_count else column)

"""The packets that take part in exchanges, as numbers and texts by name."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...spec.declare import Packet
from ...spec.packets import Connack, Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Subscribe, Unsuback, Unsubscribe
from ..arrow import NO_TIME, Mask, Rows, encoded, numbers, replaced, values
from ..reassemble.frames import NONE
from ..schema import PACKETS
from .sessions import Left, Moment

CODES = 16
ACKS = (Puback, Pubrec, Pubrel, Pubcomp)
SUBSCRIBING = (Subscribe, Suback, Unsubscribe, Unsuback)
_OTHER = np.array([1, 0, 2])
SENDERS = ("client", "server", None)
TEXTS = ("capture", "connection", "client_id", "client", "server", "version", "resolved_topic", "filters")


def kinds(*packets: type[Packet]) -> Mask:
    """Return for each packet type whether it is one of these."""
    found: Mask = np.isin(np.arange(CODES), [cls.code for cls in packets])
    return found


_PAIRED, _ACK = kinds(Publish, *ACKS, *SUBSCRIBING), kinds(*ACKS)
_ANSWER = kinds(Puback, Pubrec, Pubcomp, Suback, Unsuback)
"""Packets that come from the other end than the request."""
_OF_SEVERAL = kinds(Suback, Unsuback)


@dataclass(frozen=True)
class Legs:
    """Packets of exchanges; all arrays have one element for each."""

    numbers: dict[str, NDArray[np.int64]]
    """`code`, `qos`, `dup`, `packet_id`, `sender` (index into SENDERS), `reason`, `told`, `size` (of the payload),
    `time` (microseconds), `frame`, `pos`; and what a leg stands for, itself and others: `packets`, `dups`."""
    texts: dict[str, pa.Array]

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        """Return numbers by name."""
        return self.numbers[name]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.numbers["code"])

    def take(self, rows: Rows, names: Iterable[str] = TEXTS) -> "Legs":
        """Return some of them, with the texts of these names."""
        places = numbers(rows)
        texts = {name: self.texts[name].take(places) for name in names}
        return Legs({name: column[rows] for name, column in self.numbers.items()}, texts)

    def compact(self) -> "Legs":
        """Return the same with no words in the dictionaries of texts that stand nowhere."""
        texts = {name: each.cast(pa.string()).dictionary_encode() if pa.types.is_dictionary(each.type) else each
                 for name, each in self.texts.items()}  # fmt: skip
        return Legs(self.numbers, texts)

    def joined(self, more: "Legs") -> "Legs":
        """Return these and more behind them."""
        return Legs(
            {name: np.concatenate((column, more[name])) for name, column in self.numbers.items()},
            {name: pa.concat_arrays((column, more.texts[name])) for name, column in self.texts.items()},
        )


def legs_of(packets: pa.RecordBatch) -> Legs:
    """Return the packets that take part in exchanges: those with a Packet Identifier, and no QoS 3."""
    code, qos = integers(packets["type_code"]), integers(packets["qos"])
    packet_id = integers(packets["packet_id"])
    known = _PAIRED[code]
    rows = np.flatnonzero(known & (packet_id != NONE) & ((code != Publish.code) | (qos == 1) | (qos == 2)))
    packets = packets.take(numbers(rows)) if len(rows) < len(code) else packets
    return _legs(packets, {"code": code[rows], "qos": qos[rows], "packet_id": packet_id[rows]})


def _legs(packets: pa.RecordBatch, known: dict[str, NDArray[np.int64]]) -> Legs:
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
        "told": np.where(code == Pubrec.code, reason >= 0x80, filters > 0).astype(np.int64),
        "size": integers(packets["payload_length"]),
        "time": integers(time.cast(pa.int64()), NO_TIME),
        "frame": integers(packets["frame"]),
        "pos": integers(packets["pos"]),
        "packets": np.ones(len(code), np.int64),
        "dups": dup,
        "resumed": np.zeros(len(code), np.int64),
    }
    return Legs(found, {name: _text(packets[name]) for name in TEXTS})


def _text(column: pa.Array) -> pa.Array:
    """Return texts that come many times as a dictionary."""
    return column.dictionary_encode() if pa.types.is_string(column.type) else column


def no_legs() -> Legs:
    """Return none."""
    return legs_of(pa.RecordBatch.from_arrays([pa.nulls(0, each.type) for each in PACKETS], schema=PACKETS))


def resuming(legs: Legs, found: dict[int, Left]) -> Legs:
    """Return legs of which some resume a message; an ack then has its topic and size."""
    known, texts = {**legs.numbers}, {**legs.texts}
    rows = np.array(sorted(found), np.int64)
    acks = rows[legs["code"][rows] != Publish.code]
    known["resumed"], known["size"] = known["resumed"].copy(), known["size"].copy()
    known["resumed"][rows] = 1
    known["size"][acks] = [found[row].size for row in acks.tolist()]
    topics = [found[row].topic for row in acks.tolist()]
    texts["resolved_topic"] = replaced(texts["resolved_topic"], acks, topics)
    return Legs(known, texts)


def forgetting(packets: pa.RecordBatch) -> list[Moment]:
    """Return each CONNACK that says that the server has no session of the client."""
    code, codes = integers(packets["type_code"]), integers(packets["reason_code"])
    told = (code == Connack.code) & (codes != NONE) & (integers(packets["session_present"]) != 1)
    rows = packets.select(["frame", "pos", "client_id"]).take(numbers(np.flatnonzero(told)))
    return [Moment(frame, False, pos, client, -1, 0, Connack.code)
            for frame, pos, client in zip(*(column.to_pylist() for column in rows), strict=True) if client]  # fmt: skip


def _reasons(packets: pa.RecordBatch, code: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the Reason Codes of acks; of several in one ack the highest."""
    reason = np.where(_ACK[code], integers(packets["reason_code"]), NONE)
    several = np.flatnonzero(_OF_SEVERAL[code])
    lists = packets["reason_codes"].take(numbers(several)).to_pylist()
    reason[several] = [max(codes or (), default=NONE) for codes in lists]
    return reason


def integers(column: pa.Array, none: int = NONE) -> NDArray[np.int64]:
    """Return a column of numbers or flags, another number for null."""
    column = column.cast(pa.int64())
    return values(column.fill_null(none) if column.null_count else column)

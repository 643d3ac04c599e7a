"""The packets that take part in exchanges, as numbers and texts by name."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..spec.packets import Connack, Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Subscribe, Unsuback, Unsubscribe
from .arrow import Mask, Rows, numbers, replaced
from .frames import NO_TIME
from .schema import PACKETS
from .sessions import Left, Moment

NONE = -1
"""Stands for a number that is not there."""
CODES = 16
ACKS = (Puback, Pubrec, Pubrel, Pubcomp)
SUBSCRIBING = (Subscribe, Suback, Unsubscribe, Unsuback)
_ANSWERS = (Puback, Pubrec, Pubcomp, Suback, Unsuback)
"""Packets that come from the other end than the request."""
_OTHER = np.array([1, 0, 2])
SENDERS = ("client", "server", None)
TEXTS = ("capture", "connection", "client_id", "client", "server", "version", "resolved_topic", "filters")


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

    def take(self, rows: Rows) -> "Legs":
        """Return some of them."""
        places = numbers(rows)
        texts = {name: column.take(places) for name, column in self.texts.items()}
        return Legs({name: column[rows] for name, column in self.numbers.items()}, texts)

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
    known = np.isin(code, [cls.code for cls in (Publish, *ACKS, *SUBSCRIBING)])
    rows = np.flatnonzero(known & (packet_id != NONE) & ((code != Publish.code) | (qos == 1) | (qos == 2)))
    packets = packets.take(numbers(rows)) if len(rows) < len(code) else packets
    return _legs(packets, {"code": code[rows], "qos": qos[rows], "packet_id": packet_id[rows]})


def _legs(packets: pa.RecordBatch, known: dict[str, NDArray[np.int64]]) -> Legs:
    code = known["code"]
    time = packets["time"]
    dup = integers(pc.fill_null(packets["dup"], False))
    direction = integers(pc.index_in(packets["direction"], pa.array(SENDERS[:2])), 2)
    reason = _reasons(packets, code)
    filters = integers(pc.list_value_length(packets["filters"]), 0)
    found = {
        **known,
        "dup": dup,
        "sender": np.where(_is(code, *_ANSWERS), _OTHER[direction], direction),
        "reason": reason,
        "told": np.where(_is(code, Pubrec), reason >= 0x80, filters > 0).astype(np.int64),
        "size": integers(packets["payload_length"]),
        "time": integers(time.cast(pa.int64()), NO_TIME),
        "frame": integers(packets["frame"]),
        "pos": integers(packets["pos"]),
        "packets": np.ones(len(code), np.int64),
        "dups": dup,
        "resumed": np.zeros(len(code), np.int64),
    }
    return Legs(found, {name: packets[name] for name in TEXTS})


def no_legs() -> Legs:
    """Return none."""
    return legs_of(pa.RecordBatch.from_arrays([pa.nulls(0, each.type) for each in PACKETS], schema=PACKETS))


def resuming(legs: Legs, found: dict[int, Left]) -> Legs:
    """Return legs of which some resume a message; an ack then has its topic and size."""
    values, texts = {**legs.numbers}, {**legs.texts}
    rows = np.array(sorted(found), np.int64)
    acks = rows[legs["code"][rows] != Publish.code]
    values["resumed"], values["size"] = values["resumed"].copy(), values["size"].copy()
    values["resumed"][rows] = 1
    values["size"][acks] = [found[row].size for row in acks.tolist()]
    topics = [found[row].topic for row in acks.tolist()]
    texts["resolved_topic"] = replaced(texts["resolved_topic"], acks, topics)
    return Legs(values, texts)


def forgetting(packets: pa.RecordBatch) -> list[Moment]:
    """Return each CONNACK that says that the server has no session of the client."""
    code, codes = integers(packets["type_code"]), integers(packets["reason_code"])
    told = (code == Connack.code) & (codes != NONE) & (integers(packets["session_present"]) != 1)
    rows = packets.select(["frame", "pos", "client_id"]).take(numbers(np.flatnonzero(told)))
    return [Moment(frame, False, pos, client, -1, 0, Connack.code)
            for frame, pos, client in zip(*(column.to_pylist() for column in rows), strict=True) if client]  # fmt: skip


def _is(code: NDArray[np.int64], *kinds: Any) -> Mask:
    return np.isin(code, [cls.code for cls in kinds])


def _reasons(packets: pa.RecordBatch, code: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the Reason Codes of acks; of several in one ack the highest."""
    reason = np.where(_is(code, *ACKS), integers(packets["reason_code"]), NONE)
    several = np.flatnonzero(_is(code, Suback, Unsuback))
    lists = packets["reason_codes"].take(numbers(several)).to_pylist()
    reason[several] = [max(codes or (), default=NONE) for codes in lists]
    return reason


def integers(column: pa.Array, none: int = NONE) -> NDArray[np.int64]:
    """Return a column of numbers or flags, another number for null."""
    filled = column.cast(pa.int64()).fill_null(none)
    values: NDArray[np.int64] = filled.to_numpy(zero_copy_only=False)
    return values

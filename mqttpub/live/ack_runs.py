"""Acknowledgements of one type and length that follow one another, cut out and read together.

Bulk publishing gets two million acknowledgements for a million messages of QoS 2; a Frame and a call for each of them
took about a third of the processor time (tests/benchmarks/publish.py).
"""

from struct import Struct
from typing import NamedTuple

from ..codec.frame_runs import end_of_run
from ..spec.packets import Puback, Pubcomp, Pubrec

_FIRST = tuple(kind.code << 4 for kind in (Puback, Pubrec, Pubcomp))
_BYTES = {bytes((first, size - 2)): size for first in _FIRST for size in (4, 5)}
"""Length in bytes of the acknowledgements that have no properties, by their first two bytes."""
LONGEST_BYTES = 5
"""Length of the longest acknowledgement without properties: Packet Identifier and Reason Code."""
_IDS = {4: Struct(">xxH"), 5: Struct(">xxHx")}


class AckRun(NamedTuple):
    """Acknowledgements that differ in Packet Identifier and Reason Code only."""

    data: bytes
    offset: int
    """Offset of the first byte in its stream."""
    size_bytes: int
    """Length of each."""

    @property
    def packets(self) -> list[bytes]:
        """The acknowledgements, one by one."""
        data, _, size = self
        return [data[at : at + size] for at in range(0, len(data), size)]

    @property
    def packet_ids(self) -> list[int]:
        """The Packet Identifiers."""
        return [packet_id for (packet_id,) in _IDS[self.size_bytes].iter_unpack(self.data)]

    @property
    def reasons(self) -> bytes | None:
        """The Reason Codes, None where the packets have none."""
        return self.data[4::LONGEST_BYTES] if self.size_bytes == LONGEST_BYTES else None


def ack_runs(data: bytes, offset: int) -> list[AckRun]:
    """Return the runs that bytes at an offset begin with; the rest begins with another packet or a part of one."""
    runs: list[AckRun] = []
    start = 0
    while size := _BYTES.get(head := data[start : start + 2]):
        stop = end_of_run(data, start, head, size)
        if stop == start:
            break
        runs.append(AckRun(data[start:stop], offset + start, size))
        start = stop
    return runs

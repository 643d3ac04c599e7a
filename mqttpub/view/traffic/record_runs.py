"""The records of the packets of a run, many at once from forms.

Packets of one end with the same first byte, size, length of the topic and Reason Code have records that differ in few
values. Their form has slots for these; with it a packet is written without reading its fields.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from operator import add, sub
from typing import TYPE_CHECKING, Any

from ...common.lru import BoundedMemo
from ...spec.packets import Publish
from ...spec.versions import Direction
from ...traffic.context import PacketInContext
from ...traffic.runs import PacketRun
from ..packet.record_json import BEGIN, END, HEX, ID, MEMBER, OFFSET, PAYLOAD, TOPIC, RecordWriter, record_form
from ..packet.record_parts import LONGEST_KEPT, all_payload_texts, hex_text, time_text, value_text
from ..packet.values import number_words

if TYPE_CHECKING:
    from ..packet.formatted import PayloadFormat

MOST_FORMS = 4096
"""Forms that are kept, of about 1 kB each."""
ROWS = 64
"""Packets whose records are made together: a run may have 512, whose records and their parts take 1.5 MB."""


_KINDS = (BEGIN, OFFSET, HEX, TOPIC, ID, PAYLOAD, MEMBER, END)
"""The order of what is made for each packet."""
_Filler = Callable[[Sequence[str]], str]
_FormKey = tuple[int, int, int, int, int | None, int]
"""First byte, size, where the payload begins, bytes of the topic, Reason Code, number of version and sender."""


def no_form(values: Sequence[str]) -> str:
    """Return nothing, for packets that are written one by one."""
    return ""


class RunRecords:
    """Writes the records of runs; keeps at most `most_forms` forms, and as many topics and Packet Identifiers."""

    def __init__(
        self, writer: RecordWriter, line: Callable[[PacketInContext], str], most_forms: int = MOST_FORMS
    ) -> None:  # fmt: skip
        """`line` returns the record of a packet without a form, and does not ask for its values."""
        self.forms: BoundedMemo[_FormKey, _Filler | None] = BoundedMemo(most_forms)
        """What fills a form; None for a form that was seen once."""
        self.topics: BoundedMemo[str, tuple[str, int]] = BoundedMemo(most_forms)
        """What says a topic, and its bytes."""
        self.ids = IdTexts(most_forms)
        self._writer = writer
        self._line = line

    def texts(self, run: PacketRun, about: str) -> Iterator[str]:
        """Yield records with line ends between them; `about` is what all of them end with, after `record`."""
        for start in range(run.start, run.stop, ROWS):
            part = run.between(start, min(start + ROWS, run.stop))
            lines = self._lines(part, about)
            yield "\n".join(
                [line or self._alone(part, row) for row, line in enumerate(lines, start)] if "" in lines else lines
            )

    def _lines(self, run: PacketRun, about: str) -> list[str]:
        """Return the records of packets that have a form; the others are empty."""
        columns, rows = run.columns, slice(run.start, run.stop)
        topics = [self.topics.get(name) or self._topic(name) for name in columns.topic[rows]]
        forms = self._forms(run, topics)
        if forms[0] is no_form and forms.count(no_form) == len(forms):
            return [""] * len(forms)
        buffer, begins, payload_begins = columns.buffer, columns.begin[rows], columns.payload_begin[rows]
        ends = list(map(add, begins, columns.size[rows]))
        digits = [buffer[begin:end].hex() for begin, end in zip(begins, ends, strict=True)]
        contents = [buffer[begin:end] for begin, end in zip(payload_begins, ends, strict=True)]
        made = zip(
            forms, self._moments(columns.record[rows], columns.time_ns[rows], about), map(str, columns.offset[rows]),
            digits, topics, map(self.ids.__getitem__, columns.packet_id[rows]), contents,
            _payload_texts(contents, self._writer.payloads), strict=True,
        )  # fmt: skip
        # This is done for every packet of a long capture.
        return [
            fill((begun, offset, hex, topic, id, value_text(hex_text(content.hex()), words), member, end))
            for fill, (begun, end), offset, hex, (topic, _), id, content, (words, member) in made
        ]

    def _alone(self, run: PacketRun, row: int) -> str:
        """Return the record of one packet of a run."""
        seen = run.columns.packet(row, run.ends, run.direction, run.version, run.guessed)
        return self._line(PacketInContext(seen, None, None, run.client, ()))

    def _moments(self, records: list[int], times_ns: list[int | None], about: str) -> list[tuple[str, str]]:
        """Return how each record begins and ends; many packets of a run are from the same record of the capture."""
        last_record, moment, moments = -1, ("", ""), []
        for record, time_ns in zip(records, times_ns, strict=True):
            if record != last_record:
                last_record = record
                begun = "" if time_ns is None else time_text(time_ns // 1000 / 1e6)
                moment = f"{{{begun}", f'{_CLEAN},"record":{record},{about}}}'
            moments.append(moment)
        return moments

    def _topic(self, name: str) -> tuple[str, int]:
        """Return what says a topic, and its bytes; keep them."""
        content = name.encode("utf-8", "surrogateescape")
        made = value_text(*self._writer.strings[content]), len(content)
        return self.topics.keep(name, made) if len(content) <= LONGEST_KEPT else made

    def _forms(self, run: PacketRun, topics: list[tuple[str, int]]) -> list[_Filler]:
        """Return what fills the form of each packet."""
        columns, rows = run.columns, slice(run.start, run.stop)
        heads = list(map(sub, columns.payload_begin[rows], columns.begin[rows]))
        names = [size for _, size in topics]
        sides = [run.version << 1 | (run.direction is Direction.CLIENT)] * len(names)
        parts = columns.first[rows], columns.size[rows], heads, names, columns.reason[rows], sides
        found: list[Any] = list(map(self.forms.get, zip(*parts, strict=True)))
        if not all(found):
            for at, key in enumerate(zip(*parts, strict=True)):
                found[at] = found[at] or self._form(key, run, run.start + at)
        return found

    def _form(self, key: _FormKey, run: PacketRun, row: int) -> _Filler:
        """Return what fills the form of a packet, and keep it; the first packet of a form may be the only one.

        To make a form takes as long as to write several packets.
        """
        if key not in self.forms:
            self.forms.keep(key, None)
            return no_form
        known = self.forms[key]
        if known is None:
            known = self._made_form(run, row)
            self.forms.keep(key, known)
        return known

    def _made_form(self, run: PacketRun, row: int) -> _Filler:
        columns = run.columns
        if columns.first[row] >> 4 == Publish.code and run.has_properties(row):
            return no_form
        begin = columns.begin[row]
        data = columns.buffer[begin : begin + columns.size[row]]
        return record_form(data, run.version, run.direction).filler(_KINDS)


class IdTexts(BoundedMemo[int, str]):
    """What says Packet Identifiers, made on first use."""

    def __missing__(self, id: int) -> str:
        return self.keep(id, value_text(str(id), f'"{number_words(id, "id", "")}"'))


def _payload_texts(contents: list[bytes], payloads: "PayloadFormat | None") -> Iterable[tuple[str, str]]:
    """Return the texts of payloads, of which those of packets without a payload are not shown."""
    return all_payload_texts(contents, payloads) if any(contents) else repeat(("", ""), len(contents))


_CLEAN = ',"findings":[]'

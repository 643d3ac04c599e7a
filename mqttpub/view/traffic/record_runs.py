"""The records of the packets of a run, many at once from forms.

Packets of one end with the same first byte, size, length of the topic and Reason Code have records that differ in few
values. Their form is what a RecordWriter writes around these values; with it a packet is written without reading its
fields.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import repeat
from operator import add, sub
from typing import TYPE_CHECKING, Any, NamedTuple

from ...spec.packets import Publish
from ...spec.versions import Direction, Version
from ...traffic.runs import PacketRun
from ..packet.record_json import RecordWriter
from ..packet.record_parts import LONGEST_KEPT, all_payload_texts, time_text
from ..packet.values import number_words

if TYPE_CHECKING:
    from ..packet.formatted import PayloadFormat

MOST_FORMS = 4096
"""Forms that are kept, of about 1 kB each."""
ROWS = 64
"""Packets whose records are made together: a run may have 512, whose records and their parts take 1.5 MB."""


class RecordForm(NamedTuple):
    """The texts around the values in which packets of one form differ, in the order of a record."""

    to_offset: str
    """From the time on; empty in NO_FORM only."""
    to_hex: str
    to_topic: str
    """Empty for an ack."""
    to_id: str
    """Empty for a PUBLISH of QoS 0."""
    to_payload: str
    """Up to the findings if there is no payload."""
    to_words: str
    """Up to what the payload appears to be; empty without a payload."""
    to_member: str
    """Up to the value of the payload; empty without a payload."""
    payload_at: int
    """Where the payload begins in the hex digits of the packet."""


NO_FORM = RecordForm("", "", "", "", "", "", "", 0)
"""For packets that are written one by one."""
_FormKey = tuple[int, int, int, int, int | None]
"""First byte, size, where the payload begins, bytes of the topic, Reason Code."""


class RunRecords:
    """Writes the records of runs; keeps at most `most_forms` forms, and as many topics and Packet Identifiers."""

    def __init__(self, writer: RecordWriter, most_forms: int = MOST_FORMS) -> None:
        self.most_forms = most_forms
        self.forms: dict[tuple[Version, Direction], dict[_FormKey, RecordForm | None]] = {}
        """By version and sender; None for a form that was seen once."""
        self.topics: dict[str, tuple[str, int]] = {}
        """The rest of the field of a topic, and the bytes of the topic."""
        self.ids = IdTexts(most_forms)
        self._writer = writer

    def texts(self, run: PacketRun, about: str) -> Iterator[str]:
        """Yield records with line ends between them; `about` is what all of them end with, after `record`."""
        for start in range(run.start, run.stop, ROWS):
            part = run.between(start, min(start + ROWS, run.stop))
            lines = self._lines(part, about)
            yield "\n".join(
                [line or self._alone(part, row, about) for row, line in enumerate(lines, start)]
                if "" in lines
                else lines
            )

    def _lines(self, run: PacketRun, about: str) -> list[str]:
        """Return the records of packets that have a form; the others are empty."""
        columns, rows = run.columns, slice(run.start, run.stop)
        topics = [self.topics.get(name) or self._topic(name) for name in columns.topic[rows]]
        forms = self._forms(run, topics)
        if forms[0] is NO_FORM and forms.count(NO_FORM) == len(forms):
            return [""] * len(forms)
        buffer, begins, payload_begins = columns.buffer, columns.begin[rows], columns.payload_begin[rows]
        ends = list(map(add, begins, columns.size[rows]))
        digits = [buffer[begin:end].hex() for begin, end in zip(begins, ends, strict=True)]
        contents = [buffer[begin:end] for begin, end in zip(payload_begins, ends, strict=True)]
        made = zip(
            self._moments(columns.record[rows], columns.time_ns[rows], about), columns.offset[rows], forms, digits,
            topics, map(self.ids.__getitem__, columns.packet_id[rows]),
            _payload_texts(contents, self._writer.payloads), strict=True,
        )  # fmt: skip
        # This is done for every packet of a long capture; the texts of a form are named a to g, in their order.
        return [
            f"{begun}{a}{offset}{b}{hex}{c}{topic}{d}{id}{e}{hex[payload_at:]}{f}{words}{g}{member}{ended}"
            if f
            else f"{begun}{a}{offset}{b}{hex}{c}{topic if c else ''}{d}{id}{e}{ended}"
            if a
            else ""
            for (begun, ended), offset, (a, b, c, d, e, f, g, payload_at), hex, (topic, _), id, (words, member) in made
        ]

    def _alone(self, run: PacketRun, row: int, about: str) -> str:
        """Return the record of one packet of a run."""
        columns = run.columns
        begin, time_ns = columns.begin[row], columns.time_ns[row]
        return self._writer.packet(
            columns.buffer[begin : begin + columns.size[row]], run.version, (), direction=run.direction,
            offset=columns.offset[row], time=None if time_ns is None else time_ns / 1e9,
            more=f',"record":{columns.record[row]},{about}',
        )  # fmt: skip

    def _moments(self, records: list[int], times_ns: list[int | None], about: str) -> list[tuple[str, str]]:
        """Return how each record begins and ends; many packets of a run are from the same record of the capture."""
        last_record, moment, moments = -1, ("", ""), []
        for record, time_ns in zip(records, times_ns, strict=True):
            if record != last_record:
                last_record = record
                begun = "" if time_ns is None else time_text(time_ns / 1e9)
                moment = f"{{{begun}", f'{_CLEAN},"record":{record},{about}}}'
            moments.append(moment)
        return moments

    def _topic(self, name: str) -> tuple[str, int]:
        """Return the rest of the field of a topic, and the bytes of the topic; keep them."""
        content = name.encode("utf-8", "surrogateescape")
        value, words = self._writer.strings[content]
        made = f'"length":{len(content) + 2},"value":{value},"text":{words}}}', len(content)
        if len(content) <= LONGEST_KEPT:
            if len(self.topics) >= self.most_forms:
                self.topics.clear()
            self.topics[name] = made
        return made

    def _forms(self, run: PacketRun, topics: list[tuple[str, int]]) -> list[RecordForm]:
        """Return the form of each packet."""
        columns, rows = run.columns, slice(run.start, run.stop)
        heads = list(map(sub, columns.payload_begin[rows], columns.begin[rows]))
        names = [size for _, size in topics]
        parts = columns.first[rows], columns.size[rows], heads, names, columns.reason[rows]
        known = self.forms.setdefault((run.version, run.direction), {})
        found: list[Any] = list(map(known.get, zip(*parts, strict=True)))
        if not all(found):
            for at, key in enumerate(zip(*parts, strict=True)):
                found[at] = found[at] or self._form(known, key, run, run.start + at)
        return found

    def _form(self, known: dict[_FormKey, RecordForm | None], key: _FormKey, run: PacketRun, row: int) -> RecordForm:
        """Return the form of a packet, and keep it; NO_FORM for the first packet of a form, which may be the only one.

        To make a form takes three times as long as to write a packet.
        """
        if key in known:
            form = known[key] = known[key] or self._made_form(run, row)
            return form
        if sum(map(len, self.forms.values())) >= self.most_forms:
            for each in self.forms.values():
                each.clear()
        known[key] = None
        return NO_FORM

    def _made_form(self, run: PacketRun, row: int) -> RecordForm:
        columns = run.columns
        if columns.first[row] >> 4 == Publish.code and run.has_properties(row):
            return NO_FORM
        begin, payload_begin = columns.begin[row], columns.payload_begin[row]
        # The names that are looked for may be in the payload.
        payload = b"-" * (begin + columns.size[row] - payload_begin)
        data = columns.buffer[begin:payload_begin] + payload
        text = self._writer.packet(data, run.version, (), direction=run.direction)
        found = _PLACES.fullmatch(text)
        assert found, text
        a, b, c, d, e, f, g, rest = found.groups("")
        return RecordForm(a, b, c, d, e or rest, f, g, 2 * (payload_begin - begin))


class IdTexts(dict[int, str]):
    """The rest of the fields of Packet Identifiers, made on first use; a PUBLISH of QoS 0 has none."""

    def __init__(self, most_kept: int) -> None:
        super().__init__()
        self.most_kept = most_kept

    def __missing__(self, id: int) -> str:
        if len(self) >= self.most_kept:
            self.clear()
        text = self[id] = f'{id},"text":"{number_words(id, "id", "")}"' if id else ""
        return text


def _payload_texts(contents: list[bytes], payloads: "PayloadFormat | None") -> Iterable[tuple[str, str]]:
    """Return the texts of payloads, of which those of packets without a payload are not shown."""
    return all_payload_texts(contents, payloads) if any(contents) else repeat(("", ""), len(contents))


_CLEAN = ',"findings":[]'
_STRING = r'"(?:[^"\\]|\\.)*"'
_PLACES = re.compile(
    r'\{(.*?"offset":)0(.*?"hex":")[0-9a-f]+'
    rf'(?:(.*?"path":"publish\.topic","offset":\d+,)"length":.*?"text":{_STRING}\}})?'
    r'(?:(.*?"path":"\w+\.packet_id",.*?"value":)\d+,"text":".*?")?'
    rf'(?:(.*?"path":"publish\.payload",.*?"hex":")[0-9a-f]+("\}},"text":){_STRING}(.*?"payload":).*|(.*))'
    rf"{re.escape(_CLEAN)}\}}"
)
"""The places of values in a record. No name is found in a string, which has a backslash before its quotation marks."""

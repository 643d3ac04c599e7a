"""Findings with the bytes that they are about, as lines of a screen or as JSON values."""

from collections.abc import Iterable, Iterator
from typing import Any

from ...codec.tree import Decoded, Finding
from ...common.escape import escape, json_text
from ...common.times import Clock, iso
from ...reading.judged import JudgedEvent
from ...spec.reason_codes import FAILURE, REASONS
from ...traffic.events import Closed, PacketSeen
from ...wire.types import readable
from ..packet.dump import Sheet, headline
from ..packet.layout import Columns
from ..packet.marks import sentence
from ..packet.masking import hidden, masked_hex
from ..packet.outline import Outline, OutlineEntry
from ..terminal.cells import Line, wrap
from .facts import connection_record
from .statements import explanation

MOST_BYTES = 256
"""Bytes of one finding that a record holds unless all are asked for."""
MOST_TEXT = 64
"""Bytes of a value that are decoded to text unless all are asked for."""
_ANSWERS = {row.code: row.name for row in REASONS if row.code >= FAILURE}


class FindingLines:
    """Draws events with their findings in lines of at most `width` cells (60 or more).

    `explain` adds what the statement of each finding demands; `full` and `secrets` are as in the dump of a packet.
    """

    def __init__(
        self, *, width: int = 80, absolute: bool = False, secrets: bool = False, full: bool = False,
        explain: bool = False,
    ) -> None:  # fmt: skip
        self.clock = Clock(absolute=absolute)
        self.width = width
        self.secrets = secrets
        self.full = full
        self.explain = explain

    def begin(self, time: int) -> None:
        """Show times relative to `time`, in nanoseconds since 1970, unless a time was shown already."""
        self.clock.text(time)

    def lines(self, case: JudgedEvent) -> Iterator[Line]:
        """Yield the headline, the location, and each finding below the bytes that it is about."""
        if case.decoded:
            yield headline(case.decoded, width=self.width)
        else:
            yield from wrap(_ending(case), self.width)
        if place := ", ".join(self._place(case)):
            yield from ([("  ", ""), *line] for line in wrap([(place, "dim")], self.width - 2))
        yield from self._explained(case.findings, self._found(case))

    def _found(self, case: JudgedEvent) -> Iterator[Line]:
        if case.decoded is None:
            for each in case.findings:
                yield from sentence(each, self.width, whose=True)
            return
        case.decoded.findings = list(case.findings)
        yield from excerpt(case.decoded, width=self.width, full=self.full, secrets=self.secrets)

    def _explained(self, findings: Iterable[Finding], lines: Iterable[Line]) -> Iterator[Line]:
        ids = {each.statement for each in findings} - {""}
        for line in lines:
            yield line
            # The last line of a finding ends with its statement.
            if self.explain and line and line[-1] in {(id, "dim") for id in ids}:
                yield from explanation(line[-1][0], self.width)

    def _place(self, case: JudgedEvent) -> Iterator[str]:
        event, place = case.event, case.location
        if place.line:
            yield f"line {place.line}"
        if event.time is not None:
            yield f"at {self.clock.text(event.time)}"
        if event.record:
            yield f"record {event.record}"
        if case.number:
            yield f"packet {case.number}"
        if not isinstance(event, Closed) and event.offset:
            yield f"offset {event.offset}"
        if case.topic:
            yield f"topic {escape(case.topic)}"
        if case.client and case.decoded:
            yield escape(case.client)
        if isinstance(event, PacketSeen) and event.guessed:
            yield "version guessed"


def _ending(case: JudgedEvent) -> Line:
    """Return the headline of a connection that has ended."""
    ends, client = case.event.ends, escape(case.client)
    spoken = [f"connection {ends.number}", client, f"MQTT {case.version.label}"]
    return [("  ".join(word for word in spoken if word), "type")]


def excerpt(decoded: Decoded, *, width: int = 80, full: bool = False, secrets: bool = False) -> Iterator[Line]:
    """Yield the lines of the dump of a packet that have findings, as `annotate` draws them.

    Each finding appears once, below the first byte that it is about.
    """
    columns = Columns.fitting(width, len(decoded.data))
    limit = None if full else MOST_TEXT
    outline = Outline(decoded, limit=limit, secrets=secrets, room=columns.detail - 4)
    sheet = _Excerpt(decoded, columns, limit)
    wanted = [entry for entry in outline.entries() if sheet.concerns(entry)]
    sheet.columns = columns.labelled(wanted)
    for entry in wanted:
        yield from sheet.entry(entry)
    yield from sheet.rest()


class _Excerpt(Sheet):
    """Only the rows that have findings."""

    def concerns(self, entry: OutlineEntry) -> bool:
        """Whether a finding belongs below an entry, or below an entry for bits of the same byte."""
        stop = entry.start + 1 if entry.mask else entry.stop
        anchors = self.marks.within(entry.start, stop)
        if not entry.mask:
            return bool(anchors)
        found = (each.mask for anchor in anchors for each in self.marks.places[anchor])
        return any(mask & entry.mask and not mask & entry.later for mask in found)

    def rows(self, entry: OutlineEntry) -> Iterator[tuple[int, int]]:
        """Yield the first row and the rows with findings, each as its first byte and the byte after its last."""
        start, stop, step = entry.start, entry.stop, self.columns.per_row
        shown = start
        for anchor in (start, *self.marks.within(start, stop)):
            if anchor >= shown and start < stop:
                at = anchor - (anchor - start) % step
                yield at, min(at + step, stop)
                shown = at + step


# as values


def records(case: JudgedEvent, *, secrets: bool = False, full: bool = False) -> Iterator[dict[str, Any]]:
    """Yield each finding of an event and its location as a JSON object.

    `direction` is the sender of the packet, `at_fault` the end that violates the statement.
    `offset` counts from the first byte of the packet, `packet_offset` from the first byte of its
    direction. Secrets are asterisks unless `secrets`; `hex` holds at most 256 bytes unless `full`.
    """
    place, packet = _place(case), None if isinstance(case.event, Closed) else case.decoded
    # Finding the secrets walks the whole packet, so it is done once for all findings.
    secret = () if secrets or packet is None else hidden(packet)
    for finding in case.findings:
        given = {
            "severity": finding.severity,
            "statement": finding.statement or None,
            "message": finding.message,
            **_answer(finding),
            **place,
            "at_fault": finding.at_fault.value if finding.at_fault else None,
        }
        if packet is not None:
            given |= {"packet_offset": packet.offset, "path": finding.path}
            given |= {"offset": finding.span.start, "length": finding.span.length, "mask": finding.mask}
            start, stop = finding.span
            shown = stop if full else min(stop, start + MOST_BYTES)
            given |= {"hex": masked_hex(packet.data, secret, start, shown), "bytes_left_out": stop - shown or None}
        yield {key: value for key, value in given.items() if value is not None}


def _place(case: JudgedEvent) -> dict[str, Any]:
    """Return what all findings of an event have in common."""
    event, decoded = case.event, case.decoded
    return {
        "file": readable(case.location.name) or None,
        "line": case.location.line or None,
        "record": event.record or None,
        "time": None if event.time is None else iso(event.time),
        **connection_record(event.ends, case.client),
        # The end that closed a connection is not the sender of what is wrong.
        "direction": event.direction.value if event.direction and not isinstance(event, Closed) else None,
        "version": case.version.label,
        "guessed": True if isinstance(event, PacketSeen) and event.guessed else None,
        "type": decoded.name if decoded else None,
        "packet": case.number or None,
        "packet_id": getattr(decoded.packet, "packet_id", None) if decoded else None,
        "topic": json_text(case.topic) or None,
    }


def _answer(finding: Finding) -> dict[str, Any]:
    code = finding.reason
    return {} if code is None else {"reason_code": code, "reason": _ANSWERS[code]}

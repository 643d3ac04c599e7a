"""Messages from the pieces of standard input."""

from collections.abc import Callable, Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ...codec.publish_writer import PublishWriter
from ...common.lru import BoundedMemo
from ...common.standard_input import STANDARD_INPUT_NAME
from ...live.publish.sender import Publication
from ...live.publish.sources import PayloadBatch
from ...spec.packets import Publish
from ...spec.versions import Version
from ...wire.types import MAX_VARIABLE
from ..flags.bulk import NEEDS_AN_ANSWER
from ..observe.gate import Warn, judge, warn
from .json_messages import BadLine, message_of
from .lines import InputRecord, LineReader, RecordTooLong

if TYPE_CHECKING:
    from ...payload.csv_rows import CsvRows
    from ..templates import PublishTemplate

Complain = Callable[[str], None]
MOST_WRITERS = 1000
"""Kinds of messages that are remembered, so that similar messages are checked and prepared once."""


class LineFormat(NamedTuple):
    """What the messages of an input have in common, and how each is made."""

    packet: Publish
    version: Version
    delimiter: bytes = b"\n"
    convert: Callable[[bytes], bytes] | None = None
    """Turns a piece into a payload; raises ValueError."""
    template: "PublishTemplate | None" = None
    """Fills in what is different for each message; None where nothing is."""
    force: bool = False
    warn: Warn = warn
    """Called with a sentence for what the specification advises against."""
    needs_ack: bool = False
    """Whether each message needs an acknowledgement, so that QoS 0 is an error."""
    longest_bytes: int = MAX_VARIABLE
    """Largest size of a piece."""
    name: str = STANDARD_INPUT_NAME
    """What the input is called."""


class Messages:
    """Makes messages that share what a format says; a bad one is reported and skipped."""

    def __init__(self, line_format: LineFormat, complain: Complain) -> None:
        self.line_format = line_format
        self._complain = complain
        self._writers: BoundedMemo[Any, PublishWriter] = BoundedMemo(MOST_WRITERS)

    def _kept(
        self, make: Callable[[Any], Publication | None], given: Any, noun: str, number: int
    ) -> Publication | None:
        """Return the message that a function makes; None for a bad one, with a complaint that names its place."""
        try:
            return make(given)
        except BadLine as error:
            self._complain(str(error))
        except (ValueError, click.UsageError) as error:
            self._complain(f"{noun} {number}: {getattr(error, 'message', error)}")
        return None

    def publication(self, packet: Publish, data: bytes, number: int) -> Publication:
        """Return a message with a payload that is converted first; raises ValueError or UsageError."""
        convert = self.line_format.convert
        return Publication(self.writer(packet), convert(data) if convert else data, None, number)

    def writer(self, packet: Publish) -> PublishWriter:
        """Return the writer of packets like this one; the first of a kind is checked."""
        key = (packet.topic, packet.qos, packet.retain, packet.dup, packet.properties)
        writer = self._writers.get(key)
        if writer is None:
            judge(packet, self.line_format.version, force=self.line_format.force, warn=self.line_format.warn)
            writer = self._writers.keep(key, PublishWriter(packet, self.line_format.version))
        return writer


class Rounds(Messages):
    """Messages of templates, each filled once in a round."""

    def __init__(
        self, line_format: LineFormat, complain: Complain, templates: "Sequence[PublishTemplate]"
    ) -> None:  # fmt: skip
        super().__init__(line_format, complain)
        self._templates = templates
        self._number = 0

    def __call__(self) -> list[Publication]:
        """Return the messages of the next round."""
        return [message for template in self._templates if (message := self._next(template))]

    def _next(self, template: "PublishTemplate") -> Publication | None:
        self._number += 1
        return self._kept(self._filled, template, "message", self._number)

    def _filled(self, template: "PublishTemplate") -> Publication:
        packet = template.fill(self._number)
        made = self.publication(packet, template.payload(), self._number)
        return made._replace(packet_id=packet.packet_id)


class Pieces(Messages):
    """Cuts the input and makes a message of each piece."""

    def __init__(self, line_format: LineFormat, complain: Complain) -> None:
        super().__init__(line_format, complain)
        self._reader = LineReader(line_format.delimiter, limit=line_format.longest_bytes)

    def __call__(self, chunk: bytes) -> tuple[list[Publication], int]:
        """Return the messages that a chunk completes, and the offset after them; an empty chunk ends the input."""
        messages = [made for record in self._records(chunk) if (made := self._made(record))]
        return messages, self._reader.offset

    def _records(self, chunk: bytes) -> list[InputRecord]:
        try:
            return self._reader.feed(chunk) if chunk else self._reader.finish()
        except RecordTooLong as error:
            raise self._unusable(error) from None

    def _unusable(self, error: RecordTooLong) -> click.UsageError:
        return click.UsageError(f"{self.line_format.name}: {error}")

    def _made(self, record: InputRecord) -> Publication | None:
        return self._kept(self.message, record, "line", record.number)

    def message(self, record: InputRecord) -> Publication | None:
        """Return the message of a piece, None where it completes none; raises ValueError or UsageError."""
        template, packet, data = self.line_format.template, self.line_format.packet, record.data
        if template:
            packet, data = template.fill(record.number), template.filled(data)
        return self.publication(packet, data, record.number)


class Lines(Pieces):
    """Each piece is a payload, unchanged; everything else is the same for all."""

    def __init__(self, line_format: LineFormat, complain: Complain) -> None:
        super().__init__(line_format, complain)
        self._writer = PublishWriter(line_format.packet, line_format.version)

    def __call__(self, chunk: bytes) -> tuple[list[Publication], int]:
        """Return the messages that a chunk completes, and the offset after them."""
        numbers = count(self._reader.number + 1)
        # A loop in C, because this bounds the messages per second (tests/benchmarks/publish.py).
        values = zip(repeat(self._writer), self._payloads(chunk), repeat(None), numbers, strict=False)
        return list(map(_new, repeat(Publication), values)), self._reader.offset

    def batch(self, chunk: bytes) -> PayloadBatch:
        """Return the payloads that a chunk completes, to be written at once."""
        return PayloadBatch(self._writer, self._payloads(chunk))

    def _payloads(self, chunk: bytes) -> list[bytes]:
        if not chunk:
            return [record.data for record in self._records(chunk)]
        try:
            return self._reader.split(chunk)
        except RecordTooLong as error:
            raise self._unusable(error) from None


_new: Callable[[type[Publication], Any], Publication] = tuple.__new__


class Rows(Pieces):
    """Each row of a CSV file fills a template; `rows` has read the header."""

    def __init__(
        self, line_format: LineFormat, complain: Complain, template: "PublishTemplate", rows: "CsvRows"
    ) -> None:  # fmt: skip
        super().__init__(line_format, complain)
        self._reader = LineReader(number=1, limit=line_format.longest_bytes, noun="line")
        self._template, self._rows, self._number = template, rows, 0
        self._place = 0

    def __call__(self, chunk: bytes) -> tuple[list[Publication], int]:
        """Return the messages of the rows that a chunk completes, and the offset after the last whole row."""
        messages, _ = super().__call__(chunk)
        if not chunk:
            self._kept(lambda rows: rows.end(), self._rows, "line", self._reader.number)
        return messages, self._place

    def _made(self, record: InputRecord) -> Publication | None:
        made = super()._made(record)
        if not self._rows.is_within:
            self._place = record.end
        return made

    def message(self, record: InputRecord) -> Publication | None:
        """Return the message of the row that a line completes; raises ValueError or UsageError."""
        # A bad row has a number too, as a bad line has.
        self._number += 1
        row = self._rows.row(record.data)
        if row is None:
            self._number -= 1
            return None
        return self.publication(self._template.fill(self._number, row), self._template.payload(), self._number)


class Objects(Pieces):
    """Each line is a JSON object with one message; blank lines are skipped."""

    def _made(self, record: InputRecord) -> Publication | None:
        return super()._made(record) if record.data.strip() else None

    def message(self, record: InputRecord) -> Publication:
        """Return the message of a line; raises ValueError or UsageError."""
        packet = message_of(record.data, self.line_format.packet, record.number, version=self.line_format.version)
        if self.line_format.needs_ack and not packet.qos:
            raise BadLine(record.number, "qos", f"--require-subscribers {NEEDS_AN_ANSWER}")
        return Publication(self.writer(packet), packet.payload, packet.packet_id, record.number)

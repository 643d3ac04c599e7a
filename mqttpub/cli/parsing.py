"""Pieces of standard input to messages."""

from collections.abc import Callable
from typing import Any

from ..codec.encode import encode
from ..codec.publish import PublishWriter
from ..lint.quick import sound
from ..live.flows import Message
from ..live.publisher import Batch
from ..spec.packets import Publish
from ..spec.terms import Direction, Version
from .objects import BadLine, message_of
from .records import LineReader

Complain = Callable[[str], None]
MOST_WRITERS = 1000
"""Kinds of messages that are remembered, so that like messages are judged and prepared once."""


class Lines:
    """Each piece of the input is the payload of a message; all else is the same."""

    def __init__(self, packet: Publish, version: Version, delimiter: bytes) -> None:
        self._reader = LineReader(delimiter)
        self._writer = PublishWriter(packet, version)

    def __call__(self, chunk: bytes) -> tuple[list[Message], int]:
        """Return the messages that a chunk completes, and the offset behind them."""
        records = self._reader.feed(chunk) if chunk else self._reader.finish()
        writer = self._writer
        messages = [Message(writer, record.data, None, record.number) for record in records]
        return messages, self._reader.end

    def batch(self, chunk: bytes) -> Batch:
        """Return the payloads that a chunk completes, to be written at once."""
        reader = self._reader
        payloads = reader.split(chunk) if chunk else [record.data for record in reader.finish()]
        return Batch(self._writer, payloads)


class Objects:
    """Each line of the input is a JSON object with a message of its own; a bad one is named and left out."""

    def __init__(self, defaults: Publish, version: Version, complain: Complain, *, force: bool) -> None:
        self._reader = LineReader(b"\n")
        self._defaults = defaults
        self._version = version
        self._complain = complain
        self._force = force
        self._writers: dict[Any, PublishWriter] = {}

    def __call__(self, chunk: bytes) -> tuple[list[Message], int]:
        """Return the messages that a chunk completes, and the offset behind them."""
        records = self._reader.feed(chunk) if chunk else self._reader.finish()
        messages: list[Message] = []
        for record in records:
            try:
                packet = message_of(record.data, self._defaults, self._version, record.number)
                messages.append(Message(self._writer(packet), packet.payload, packet.packet_id, record.number))
            except BadLine as error:
                self._complain(str(error))
            except ValueError as error:
                self._complain(f"line {record.number}: {error}")
        return messages, self._reader.end

    def _writer(self, packet: Publish) -> PublishWriter:
        key = (packet.topic, packet.qos, packet.retain, packet.dup, packet.properties)
        writer = self._writers.get(key)
        if writer is None:
            if not self._force:
                self._judge(packet)
            if len(self._writers) >= MOST_WRITERS:
                self._writers.clear()
            writer = self._writers[key] = PublishWriter(packet, self._version)
        return writer

    def _judge(self, packet: Publish) -> None:
        """Raise ValueError for what the specification forbids."""
        packet = packet.replace(packet_id=packet.packet_id or 1 if packet.qos else None)
        if sound(packet, self._version):
            return
        from ..codec.decode import decode
        from ..lint.packet import lint

        decoded = decode(encode(packet, self._version), self._version)
        for finding in lint(decoded, Direction.CLIENT):
            if finding.severity == "error":
                raise ValueError(f"{finding.message} ({finding.statement})")

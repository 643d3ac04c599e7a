"""The findings of each packet by itself, in as few steps as possible where there are none."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...codec.decode import decode
from ...codec.fast_decode import Irregular, multi_byte, reader
from ...codec.tree import Finding
from ...spec.declare import Packet
from ...spec.packets import Publish
from ...spec.properties import PAYLOAD_FORMAT_INDICATOR, TOPIC_ALIAS
from ...spec.versions import Direction, Version
from ...wire.types import VARIABLE
from .check import lint
from .fast import ACKS, PINGS, is_clean, is_clean_with_topic, is_quick

MOST_HEAD_BYTES = 1 << 20
"""Bytes of heads of messages that are remembered where runs are judged."""
HEAD_BYTES = 200
"""Bytes that a head takes there beside its own."""
MOST_TOPICS = 10_000
LONGEST_TOPIC = 256
"""Characters of the longest topic that is remembered as clean; longer ones are checked each time."""
NO_FINDINGS: Sequence[Finding] = ()
PUBLISH = Publish.code


class CleanHead(NamedTuple):
    """A PUBLISH without its payload and Packet Identifier, which has no findings whatever they are."""

    topic: str
    """Empty for one that is not certainly clean."""
    properties: bytes = b""
    """The Identifiers of its properties."""
    needs_text: bool = False
    """Whether it is clean only if the payload is UTF-8."""


NOT_CLEAN = CleanHead("")
_DUP = 8


class PacketJudge:
    """Reads packets and returns the findings that `check.lint` has; it remembers what is clean."""

    def __init__(self) -> None:
        self._topics: dict[Version, dict[Direction | None, set[str]]] = {
            version: {sender: set() for sender in (*Direction, None)} for version in Version
        }
        """Topic Names without findings, by the version and the sender of the PUBLISH."""
        self._acks: set[tuple[int, int, Direction | None, Version]] = set()
        """First byte, Reason Code, sender and version of acks without findings."""

    def alone(
        self, data: bytes, version: Version, direction: Direction | None
    ) -> tuple[Packet | None, Sequence[Finding]]:
        """Return the values of a packet, None if it could not be read, and its findings by itself."""
        # Every packet of a capture passes here, so regular packets take as few steps as possible.
        packet: Packet | None
        try:
            code = data[0] >> 4
            short = len(data) == data[1] + 2 < 0x82
            packet = reader(code, version)(data, data[0], 2, len(data)) if short else _read_long(data, version)
            if code == PUBLISH:
                if self._is_clean_publish(packet, version, direction):
                    return packet, NO_FINDINGS
                return packet, _full(data, version, direction)[1]
            if data[0] in ACKS and len(data) == 4 and packet.packet_id:  # type: ignore[attr-defined]
                return packet, NO_FINDINGS
            if data == PINGS[direction]:
                return packet, NO_FINDINGS
            return packet, self._other(data, version, direction, packet)
        except (Irregular, IndexError):
            return _full(data, version, direction)

    def is_clean_ack(self, first: int, reason: int, version: Version, direction: Direction | None) -> bool:
        """Whether an ack with this first byte and Reason Code, and no properties, has no findings by itself."""
        return not self.alone(bytes((first, 3, 0, 1, reason)), version, direction)[1]

    def head(self, first: int, header: bytes, version: Version, direction: Direction | None) -> CleanHead:
        """Judge a PUBLISH by its first byte and its variable header, with any Packet Identifier but 0.

        One with DUP or a Topic Alias, whose meaning depends on earlier packets, is not certainly clean.
        """
        if first & _DUP or not is_quick(Publish):
            return NOT_CLEAN
        packet, findings = self.alone(bytes((first,)) + VARIABLE.write(len(header)) + header, version, direction)
        if findings or not isinstance(packet, Publish):
            return NOT_CLEAN
        ids = bytes(id for id, _ in packet.properties)
        if TOPIC_ALIAS.id in ids:
            return NOT_CLEAN
        return CleanHead(packet.topic, ids, (PAYLOAD_FORMAT_INDICATOR.id, 1) in packet.properties)

    def _other(self, data: bytes, version: Version, direction: Direction | None, packet: Any) -> Sequence[Finding]:
        """Return the findings of a packet that is neither PUBLISH nor minimal; remembers clean acks by Reason Code."""
        kind = None
        if len(data) == 5 and data[0] in ACKS and packet.packet_id:
            kind = data[0], data[4], direction, version
            if kind in self._acks:
                return NO_FINDINGS
        found = _full(data, version, direction)[1]
        if kind and not found:
            self._acks.add(kind)
        return found

    def _is_clean_publish(self, packet: Any, version: Version, direction: Direction | None) -> bool:
        """Whether a PUBLISH is certainly without findings; most have a topic that was seen before."""
        topics = self._topics[version][direction]
        if packet.topic in topics:
            return is_clean_with_topic(packet)
        if not is_clean(packet, version, direction):
            return False
        if packet.topic and len(packet.topic) <= LONGEST_TOPIC:
            if len(topics) >= MOST_TOPICS:
                topics.clear()
            topics.add(packet.topic)
        return True


def _full(data: bytes, version: Version, direction: Direction | None) -> tuple[Packet | None, list[Finding]]:
    decoded = decode(data, version, direction=direction)
    return decoded.packet, lint(decoded, direction)


def _read_long(data: bytes, version: Version) -> Packet:
    """Return the values of a packet whose Remaining Length has two or more bytes, or is wrong.

    Raises Irregular if it is wrong, as in text whose last bytes were left out.
    """
    length, start = multi_byte(data, 1)
    if start + length != len(data):
        raise Irregular
    return reader(data[0] >> 4, version)(data, data[0], start, len(data))

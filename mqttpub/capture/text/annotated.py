"""The packets in annotated dumps, as `decode` and `pub --inspect` print them."""

import re
from typing import NamedTuple

from ...spec.versions import Direction, Version
from ...traffic.events import Endpoints

_HEADLINE = re.compile(
    r"(?:([<>]) )?([A-Z]+|TYPE [0-9]++)(?:  .*?)?  ([0-9]{1,9}) bytes?  MQTT (3\.1|3\.1\.1|5\.0)(?:  .*)?\s*$"
)
_READINGS = re.compile(r" bytes?  MQTT (?=[35])")
_OFFSET = re.compile(r"  at offset ([0-9]{1,18})\s*$")
_BYTE = r"(?:[0-9a-f]{2}|\*\*)"
_ROW = re.compile(rf"([0-9a-f]{{4,8}})  ({_BYTE}(?: {_BYTE})*+)(?=  |\s*$)")
_DIRECTIONS = {"": None, ">": Direction.CLIENT, "<": Direction.SERVER}


class ShownPacket(NamedTuple):
    """A packet as a transcript shows it."""

    line: int
    time_ns: int | None
    """Nanoseconds since 1970."""
    direction: Direction | None
    version: Version
    offset: int | None
    """Its offset in its stream; None if the transcript does not show it."""
    data: bytes
    """Its first bytes, as far as they are shown, with an asterisk for each that is masked."""
    masked: tuple[int, ...]
    length: int
    """The number of its bytes."""
    guessed: bool = False
    ends: Endpoints | None = None
    """Its connection, if the transcript shows it."""
    record: int = 0


class DumpBlock:
    """The lines of one packet, from its headline; other lines among them are ignored."""

    def __init__(self, line: int, headline: re.Match[str]) -> None:
        mark, _, length, version = headline.groups(default="")
        self.line = line
        self.direction = _DIRECTIONS[mark]
        self.version = Version.named(version)
        self.length = int(length)
        self.guessed = len(_READINGS.findall(headline.string)) > 1
        """Whether another reading of the same packet is beside it."""
        self.offset: int | None = None
        self.data = bytearray()
        self.masked: list[int] = []

    def add(self, text: str) -> None:
        """Add a line; a row of bytes counts only if it continues the one before it."""
        row = _ROW.match(text)
        if row and int(row[1], 16) == len(self.data) < self.length:
            self._bytes(row[2])
        elif found := _OFFSET.match(text):
            self.offset = int(found[1])

    def _bytes(self, row: str) -> None:
        for pair in row.split(" "):
            if pair == "**":
                self.masked.append(len(self.data))
            self.data.append(ord("*") if pair == "**" else int(pair, 16))

    def shown(self) -> ShownPacket:
        """Return the packet as the lines so far show it."""
        data = bytes(self.data[: self.length])
        masked = tuple(at for at in self.masked if at < self.length)
        return ShownPacket(
            self.line, None, self.direction, self.version, self.offset, data, masked, self.length, self.guessed
        )


def headline(text: str) -> re.Match[str] | None:
    """Return the parts of the first line of a dump; None for another line."""
    return _HEADLINE.match(text)


def is_row(text: str) -> bool:
    """Whether a line is the first row of a dump."""
    row = _ROW.match(text)
    return row is not None and not row[1].strip("0")

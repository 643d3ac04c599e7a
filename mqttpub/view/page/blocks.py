"""Blocks of rows of the page: columns of the list and details, each compressed, to be unpacked when they are needed.

The head of a block is the number of its rows as 8 bytes, the columns one after the other, and JSON; the body is the
length of its JSON as 4 bytes, the JSON, and the bytes of the rows one after the other. Numbers are little-endian.
"""

import zlib
from base64 import b64encode
from collections.abc import Callable
from math import nan
from struct import pack
from typing import Any

from ...common.escape import escape, remark
from ...spec.versions import Direction
from ...traffic.clients import display_name
from ...traffic.events import SIDES, Endpoints, Event
from ..packet.record_json import dumps
from .forms import PacketForm, PacketTraits

BLOCK_ROWS = 4096
BLOCK_BYTES = 1 << 20
"""Bytes after which a block is written however few rows it has, so that memory stays bounded."""
LEVEL = 3
"""Compression: 5 makes blocks of the usual mix a tenth smaller for 0.3 us more a packet, 1 a tenth larger for
0.1 us less (processor time on the traffic of tests/benchmarks/views.py)."""
COLUMNS = (
    ("time", "d"), ("offset", "d"), ("record", "d"), ("conn", "i"), ("topic", "i"), ("id", "i"), ("form", "i"),
    ("summary", "i"), ("trait", "i"), ("kind", "b"), ("dir", "b"),
)  # fmt: skip
"""The columns of the rows with their types for `struct`; a summary or trait of -1 is that of the form.

The time is in nanoseconds since the first time of the block, `base` of its JSON, NaN if it is unknown."""
SEVERITIES = ("", "note", "warning", "error")
PACKET, GAP, REMARK, CLOSED = range(4)
"""Kinds of rows."""


class PageBlock:
    """The rows that are written together."""

    def __init__(self, file_of: Callable[[int], str] | None = None) -> None:
        self.file_of = file_of
        self.first_time_ns: int | None = None
        """The time of the first row that has one; the times of the others count from it."""
        self.rows: list[tuple[float, ...]] = []
        self.size_bytes = 0
        """About the memory that its rows, names and texts take."""
        self._bytes: list[bytes] = []
        self._numbers: dict[PacketForm, int] = {}
        self._heads: list[list[Any]] = []
        self._bodies: list[list[Any]] = []
        self._traits: dict[PacketTraits, int] = {}
        self._findings: list[list[int]] = []
        self._ends: dict[int, list[Any]] = {}
        self._named = -1
        """The connection of the newest row, and the client that the row named."""
        self._client = ""
        self._topics: dict[str, int] = {}
        self._strings: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._shapes: dict[Any, int] = {}

    def row(
        self, kind: int, event: Event, client: str, form: int, data: bytes, offset: int = 0,
        topic: int = -1, id: int = -1, summary: int = -1, trait: int = -1,
    ) -> None:  # fmt: skip
        """Add a row; `data` is the bytes of it that the page shows, `client` the Client Identifier or empty."""
        ends, time, direction = event.ends, event.time, event.direction
        if time is None:
            since_first_ns: float = nan
        else:
            if self.first_time_ns is None:
                self.first_time_ns = time
            since_first_ns = time - self.first_time_ns
        number = ends.number
        if number != self._named or client is not self._client:
            self._connection(ends, client, kind)
        self.rows.append(
            (since_first_ns, offset, event.record, number, topic, id, form, summary, trait, kind, SIDES[direction])
        )  # fmt: skip
        self._bytes.append(data)
        self.size_bytes += len(data) + 60

    def topic(self, topic: str) -> int:
        """Return the number of a topic, which is not escaped yet."""
        number = self._topics.get(topic)
        if number is None:
            number = self._topics[topic] = self.string(escape(topic))
        return number

    def form(self, form: PacketForm, shown: int) -> int:
        """Return the number of a form; the page shows `shown` bytes of its packets."""
        number = self._numbers.get(form)
        if number is None:
            start, size = (-1, 0) if form.payload is None else (form.payload.start, form.payload.length)
            head = [form.name, form.length, form.summary(None) if not form.named else "", start, size]
            shape = self._shapes.setdefault(form.entries, len(self._shapes))
            texts = [self._number(self._words, words) for words in form.texts]
            body = [form.version, int(form.guessed), shape, form.lengths, texts]
            number = self._numbers[form] = self._add(head, self.trait(form.traits), shown, body)
            self.size_bytes += 4 * len(form.lengths) + 4 * len(texts) + 40 * len(form.entries)
        return number

    def event(self, word: str, length: int, message: str, shown: int, hidden: int) -> int:
        """Return the number of a form for one row that is not a packet."""
        return self._add([word, length, message, -1, -1], -1, shown, [hidden])

    def _add(self, head: list[Any], trait: int, shown: int, body: list[Any]) -> int:
        word, length, summary, start, size = head
        self._heads.append([self.string(word), length, self.string(summary), start, size, trait, shown])
        self._bodies.append(body)
        return len(self._heads) - 1

    def trait(self, traits: PacketTraits) -> int:
        """Return the number of traits."""
        number = self._traits.get(traits)
        if number is None:
            number = self._traits[traits] = len(self._traits)
            self.size_bytes += 20 + sum(len(each) + 3 for each in traits.topics) + 4 * len(traits.reasons)
        return number

    def _connection(self, ends: Endpoints, client: str, kind: int) -> None:
        """Add the connection of a row, once per block; the rows of packets say who the client is."""
        self._named, self._client = ends.number, client
        name = escape(display_name(client, ends)) if kind == PACKET else ""
        known = self._ends.get(ends.number)
        if known is None:
            file = escape(self.file_of(ends.number)) if self.file_of else ""
            self._ends[ends.number] = [ends.number, escape(ends.client), escape(ends.server), name, file]
            self.size_bytes += 100
        elif name:
            known[3] = name
        self.size_bytes += len(name)

    def finding(
        self, severity: str, start: int, length: int, mask: int, texts: tuple[str, str, str], end: Direction | None
    ) -> None:
        """Add a finding to the newest row: `texts` are its message, statement and path, `end` is at fault."""
        numbers = [self.string(remark(text)) for text in texts]
        self.size_bytes += 62
        self._findings.append([
            len(self.rows) - 1, SEVERITIES.index(severity), start, length, mask, *numbers, SIDES[end],
        ])  # fmt: skip

    def string(self, text: str) -> int:
        """Return the number of a text of the list."""
        return self._number(self._strings, text)

    def _number(self, numbers: dict[str, int], text: str) -> int:
        number = numbers.get(text)
        if number is None:
            number = numbers[text] = len(numbers)
            self.size_bytes += len(text) + 3
        return number

    def text(self) -> str:
        """Return the block as the page has it: head and body in base64, a line each."""
        count = len(self.rows)
        columns = zip(*self.rows, strict=True)
        packed = [pack(f"<{count}{type}", *values) for values, (_, type) in zip(columns, COLUMNS, strict=True)]
        head = {
            "base": None if self.first_time_ns is None else str(self.first_time_ns), "forms": self._heads,
            "traits": list(self._traits), "findings": self._findings,
            "ends": list(self._ends.values()), "strings": list(self._strings),
        }  # fmt: skip
        body = {"strings": list(self._words), "shapes": list(self._shapes), "forms": self._bodies}
        details = dumps(body).encode()
        parts = (
            b"".join([pack("<q", count), *packed, dumps(head).encode()]),
            b"".join([pack("<i", len(details)), details, *self._bytes]),
        )
        return "\n".join([b64encode(zlib.compress(part, LEVEL)).decode("ascii") for part in parts])

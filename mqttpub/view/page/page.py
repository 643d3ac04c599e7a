"""The page of captured packets: one HTML file with its packets, style and script, which loads nothing else."""

from base64 import b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from html import escape as html_escape
from typing import Any, NamedTuple, TextIO

from ...codec.tree import Decoded, Finding
from ...common.escape import escape, remark
from ...spec.declare import PACKETS
from ...spec.packets import Connect, Publish, Subscribe, Unsubscribe
from ...spec.properties import TOPIC_ALIAS, value_of
from ...spec.statements import statement, statements
from ...spec.versions import Direction, Version
from ...traffic.events import Closed, Endpoints, Event, GapSeen, PacketSeen, Remark
from ...traffic.exchanges import filters_of
from ...traffic.query import EVENTS, gap_severity
from ...traffic.query import SEVERITIES as FILTER_SEVERITIES
from ...wire.cursor import Span
from ..packet.dump import headline
from ..packet.masking import clipped
from ..packet.outline import Outline, OutlineEntry
from ..packet.record_json import dumps
from ..traffic.facts import preview

SCRIPTS = ("text", "store", "filter", "search", "window", "rows", "bytes", "fields", "detail", "findings", "page")
"""The parts of the script, in their order in the file."""
BLOCK_ROWS = 1000
BLOCK_SIZE = 1 << 20
"""Characters after which a block is written however few rows it has, so that memory stays bounded."""

PACKET, GAP, REMARK, CLOSED = range(4)
SEVERITIES = ("", "note", "warning", "error")
_NAMES = {"client_id", "filter", "filters"}
"""Fields that differ between one CONNECT, SUBSCRIBE or UNSUBSCRIBE and the next."""
_CLOSINGS = {"FIN": "closed its side (FIN)", "RST": "reset the connection (RST)", "end": "the capture ends here"}


class PageWriter:
    """Writes the page row by row; its memory does not grow with the number of rows.

    `file_of` returns the name of the file of a connection, if there are several files. Secrets are asterisks unless
    `secrets`. `limit` bytes of each packet are kept; the page shows how many more there were. Text from peers is
    embedded as data only, never as markup.
    """

    def __init__(
        self, out: TextIO, title: str, *, secrets: bool = False, limit: int = 65_536,
        file_of: Callable[[int], str] | None = None,
    ) -> None:  # fmt: skip
        self.out = out
        self.secrets = secrets
        self.limit = limit
        self.file_of = file_of
        self.block = _PageBlock(file_of)
        self.statements: set[str] = set()
        out.write(_opening(title))

    def packet(
        self, seen: PacketSeen, decoded: Decoded, *, client: str = "", topic: str | None = None, summary: str = ""
    ) -> None:
        """Add a packet with the findings of `decoded`.

        `client` is the name of the client; `topic` is the topic with its alias resolved; `summary` follows the topic
        in the list, and defaults to the main facts of the packet.
        """
        block = self.block
        length = len(decoded.data)
        outline = Outline(decoded, limit=0, secrets=self.secrets, room=80)
        data = bytearray(decoded.data[: self.limit])
        for start, stop in clipped(outline.hidden, 0, len(data)):
            data[start:stop] = b"*" * (stop - start)
        block.row(PACKET, seen, client, decoded.name, length, remark(summary or _facts(decoded)), topic)
        block.packet(decoded, data)
        block.detail(data, seen, [decoded.version.label, int(seen.guessed), *block.shape(outline.entries()), length])
        for finding in decoded.findings:
            self._finding(finding)
        self._flush_full()

    def event(self, event: GapSeen | Remark | Closed) -> None:
        """Add a gap, a remark, or the end of a connection or of one of its directions."""
        if isinstance(event, GapSeen):
            self._gap(event)
        else:
            kind, word = (CLOSED, "closed") if isinstance(event, Closed) else (REMARK, "remark")
            message = _CLOSINGS.get(event.how, event.how) if isinstance(event, Closed) else event.message
            self.block.row(kind, event, "", word, 0, remark(message))
            self.block.detail(b"", event, [])
        self._flush_full()

    def close(self) -> None:
        """Write the remaining rows and the statements that findings cite; the file stays open."""
        self._flush()
        cited = {id: [row.section, row.text] for id in sorted(self.statements) if (row := statement(id))}
        self.out.write(f'<script type="application/json" id="end">{_json({"statements": cited})}</script>\n')
        self.out.write("</body>\n</html>\n")

    def _gap(self, gap: GapSeen) -> None:
        # The secrets of missing or unreadable bytes cannot be located, so all of them are hidden.
        self.block.row(GAP, gap, "", "gap", gap.length or 0, remark(gap.message))
        shown = gap.data[: self.limit] if self.secrets else b""
        self.block.detail(shown, gap, [len(gap.data) - len(shown)])
        self.block.finding(gap_severity(gap), 0, 0, 0, gap.message, "", "")

    def _finding(self, finding: Finding) -> None:
        if finding.statement:
            self.statements.add(finding.statement)
        self.block.finding(
            finding.severity, finding.span.start, finding.span.length, finding.mask,
            finding.message, finding.statement, finding.path,
        )  # fmt: skip

    def _flush_full(self) -> None:
        if self.block.rows >= BLOCK_ROWS or self.block.size >= BLOCK_SIZE:
            self._flush()

    def _flush(self) -> None:
        if self.block.rows:
            self.out.write(f'<script type="application/json" class="block">{self.block.text()}</script>\n')
            self.block = _PageBlock(self.file_of)


class _Traits(NamedTuple):
    """What the search knows of a packet besides the columns of the list; many packets have the same."""

    flags: int
    """DUP, QoS and RETAIN of a PUBLISH, as in its first byte; -1 for other packets."""
    version: int
    alias: int
    reasons: tuple[int, ...]
    topics: tuple[str, ...]
    """The Topic Filters of SUBSCRIBE and UNSUBSCRIBE, the Will Topic of CONNECT."""


def _traits(decoded: Decoded) -> _Traits:
    packet, version = decoded.packet, decoded.version.value
    if isinstance(packet, Publish):
        alias = value_of(packet.properties, TOPIC_ALIAS, -1)
        flags = packet.dup << 3 | packet.qos << 1 | packet.retain
        return _Traits(flags, version, alias, (), ())
    own = getattr(packet, "reason_code", None)
    reasons = tuple(getattr(packet, "reason_codes", ())) if own is None else (own,)
    topics: tuple[str, ...] = ()
    if isinstance(packet, Subscribe | Unsubscribe):
        topics = filters_of(packet)
    elif isinstance(packet, Connect) and packet.will:
        topics = (packet.will.topic,)
    return _Traits(-1, version, -1, reasons, tuple(map(escape, topics)))


def _payload(decoded: Decoded) -> Span | None:
    """Return the position of the payload, or of the Will Payload; None without one."""
    packet = decoded.packet
    if isinstance(packet, Publish):
        return Span(len(decoded.data) - len(packet.payload), len(decoded.data))
    if isinstance(packet, Connect) and packet.will:
        leaf = next(each for each in decoded.root.leaves() if each.kind == "payload")
        return Span(leaf.span.start + leaf.prefix, leaf.span.stop)
    return None


_COLUMNS = (
    "kind", "conn", "dir", "time", "length", "word", "topic", "summary", "id", "payload", "size", "preview", "trait",
)  # fmt: skip
"""The columns of the list; `payload` is where the payload or the Will Payload starts in the packet."""
_NOT_A_PACKET = (-1, -1, 0, -1, -1)
"""The values of the columns from `id` on in rows that are not packets."""


class _PageBlock:
    """Rows as columns, written as two lines: the columns of the list, then bytes and fields."""

    def __init__(self, file_of: Callable[[int], str] | None = None) -> None:
        self.file_of = file_of
        self.base: int | None = None
        self.rows = 0
        self.columns: dict[str, list[int | None]] = {name: [] for name in _COLUMNS}
        self.traits: dict[_Traits, int] = {}
        self.findings: list[list[int]] = []
        self.ends: dict[int, list[Any]] = {}
        self.strings: dict[str, int] = {}
        self.values: dict[str, int] = {}
        self.shapes: dict[tuple[Any, ...], int] = {}
        self.details: list[list[Any]] = []
        self.size = 0

    def row(
        self, kind: int, event: Event, client: str, word: str, length: int, summary: str, topic: str | None = None
    ) -> None:
        """Add a row to the columns of the list."""
        if self.base is None:
            self.base = event.time
        self.rows += 1
        direction = 0 if event.direction is None else 1 if event.direction is Direction.CLIENT else 2
        time = None if event.time is None or self.base is None else event.time - self.base
        named = self.number(word), -1 if topic is None else self.number(escape(topic)), self.number(summary)
        values = (kind, event.ends.number, direction, time, length, *named, *_NOT_A_PACKET)
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)
        self.connection(event.ends, client)

    def packet(self, decoded: Decoded, data: bytearray) -> None:
        """Add to the newest row the columns that only packets have; `data` is the visible part of the bytes."""
        packet, columns = decoded.packet, self.columns
        columns["trait"][-1] = self._trait(_traits(decoded))
        if packet is None:
            return
        id = getattr(packet, "packet_id", None)
        columns["id"][-1] = -1 if id is None else id
        span = _payload(decoded)
        if span is None:
            return
        columns["payload"][-1], columns["size"][-1] = span.start, span.length
        if isinstance(packet, Publish):
            shown = preview(bytes(data[span.start :])) if span.length else ""
            cut = len(decoded.data) > len(data) and not shown.endswith("...")
            columns["preview"][-1] = self.number(shown.removesuffix('"') + "..." if cut else shown)

    def _trait(self, traits: "_Traits") -> int:
        number = self.traits.get(traits)
        if number is None:
            number = self.traits[traits] = len(self.traits)
            self.size += 20 + sum(len(each) + 3 for each in traits.topics) + 4 * len(traits.reasons)
        return number

    def connection(self, ends: Endpoints, client: str) -> None:
        """Add the connection of a row, once per block."""
        known = self.ends.get(ends.number)
        if known is None:
            file = escape(self.file_of(ends.number)) if self.file_of else ""
            self.ends[ends.number] = [ends.number, escape(ends.client), escape(ends.server), escape(client), file]
        elif client:
            known[3] = escape(client)

    def detail(self, data: bytes | bytearray, event: PacketSeen | GapSeen | Remark | Closed, rest: list[Any]) -> None:
        """Add the fields of a row, shown when it is selected."""
        encoded = b64encode(data).decode("ascii")
        self.details.append([encoded, getattr(event, "offset", 0), event.record, *rest])
        self.size += len(encoded) + 60

    def finding(
        self, severity: str, start: int, length: int, mask: int, message: str, statement: str, path: str
    ) -> None:
        """Add a finding to the newest row."""
        texts = [self.number(remark(text)) for text in (message, statement, path)]
        self.findings.append([self.rows - 1, SEVERITIES.index(severity), start, length, mask, *texts])

    def shape(self, entries: Iterable[OutlineEntry]) -> tuple[int, list[int], list[int]]:
        """Return the number of a field layout, which packets with the same fields, lengths and texts share."""
        shape, lengths, texts, values = [], [], [], self.values
        for entry in entries:
            inline, head, _ = entry.about
            words = "".join([text for text, _ in inline or head])
            if words not in values:
                values[words] = len(values)
                self.size += len(words) + 3
            texts.append(values[words])
            lengths += [part.stop - part.start for part in entry.parts]
            content = 0 if inline or not head else 2 if words.startswith("JSON") else 1
            shape.append((entry.label, entry.style, entry.depth, entry.mask, content, _styles(entry)))
        self.size += 4 * len(lengths) + 4 * len(texts)
        return self.shapes.setdefault(tuple(shape), len(self.shapes)), lengths, texts

    def number(self, text: str) -> int:
        """Return the number of a text of the list."""
        number = self.strings.get(text)
        if number is None:
            number = self.strings[text] = len(self.strings)
            self.size += len(text) + 3
        return number

    def text(self) -> str:
        """Return both lines."""
        columns = {
            "base": None if self.base is None else str(self.base), **self.columns, "traits": list(self.traits),
            "findings": self.findings, "ends": list(self.ends.values()), "strings": list(self.strings),
        }  # fmt: skip
        rest = {"strings": list(self.values), "shapes": list(self.shapes), "rows": self.details}
        return f"{_json(columns)}\n{_json(rest)}"


def _styles(entry: OutlineEntry) -> str:
    """Return the styles of the parts of an entry, each with an asterisk after it if it is masked."""
    return " ".join([f"{part.style}*" if part.masked else part.style for part in entry.parts])


def _facts(decoded: Decoded) -> str:
    """Return the main facts of a packet without its name, size and version."""
    facts = [text.strip() for text, style in headline(decoded)[1:] if style not in ("", "length")]
    named = [leaf.value for leaf in decoded.root.leaves() if leaf.name in _NAMES and isinstance(leaf.value, str)]
    more = f"and {len(named) - 1} more" if named[1:] else ""
    return "  ".join([*facts, *map(escape, named[:1]), *filter(None, [more])])


def _json(value: Any) -> str:
    """Return JSON in ASCII that cannot end its HTML element."""
    return dumps(value).replace("<", "\\u003c")


def _opening(title: str) -> str:
    """Return the part of the file before the rows."""
    style = asset("page.css")
    script = '"use strict";\n(() => {\n' + "\n".join(asset(f"{name}.js") for name in SCRIPTS) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    shown = html_escape(remark(title)).encode("ascii", "xmlcharrefreplace").decode("ascii")
    values = {"title": shown, "policy": policy, "style": style, "script": script, "language": _json(_language())}
    first, *pieces = asset("page.html").split("{{")
    named = (piece.partition("}}") for piece in pieces)
    return first + "".join(values[name] + rest for name, _, rest in named)


def _language() -> dict[str, Any]:
    """Return the names that the search needs to read the language of --filter."""
    return {
        "types": [packet.name for packet in PACKETS.values()],
        "events": list(EVENTS),
        "versions": Version.names(),
        "severities": list(FILTER_SEVERITIES),
        "statements": [row.id for row in statements()],
    }


def asset(name: str) -> str:
    """Return a file of the folder `assets` as text; raises FileNotFoundError."""
    from importlib.resources import files  # here, because it imports much of the standard library

    return files("mqttpub").joinpath("view", "page", "assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows a script or a style."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"

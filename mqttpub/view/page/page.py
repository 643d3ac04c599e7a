"""The page of captured packets: one HTML file with its packets, style and script, which loads nothing else."""

from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from html import escape as html_escape
from typing import Any, TextIO

from ...codec.tree import Finding
from ...common.escape import remark
from ...spec.declare import PACKETS
from ...spec.statements import statement, statements
from ...spec.versions import Version
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.events import Closed, GapSeen, Remark
from ...traffic.query import EVENTS, end_of_gap, gap_severity
from ...traffic.query import SEVERITIES as FILTER_SEVERITIES
from ..packet.masking import clipped
from ..packet.record_json import dumps
from .blocks import BLOCK_BYTES, BLOCK_ROWS, CLOSED, GAP, PACKET, REMARK, PageBlock
from .forms import PacketForm, PacketForms, traits_of

SCRIPTS = (
    "text", "unpack", "bytesearch", "store", "loading", "filter", "search", "window", "rows", "bytes", "fields",
    "detail", "findings", "keys", "page",
)  # fmt: skip
"""The parts of the script, in their order in the file."""
MOST_ROWS = 2_000_000
"""Rows of a page; Chromium opens 1,000,000 of them in 0.9 s of processor time (tests/benchmarks/page.py)."""
MOST_CHARACTERS = 512 << 20
"""Characters of the file after which no more rows are written."""

_CLOSINGS = {"FIN": "closed its side (FIN)", "RST": "reset the connection (RST)", "end": "the capture ends here"}


class PageWriter:
    """Writes the page row by row; its memory does not grow with the number of rows.

    `file_of` returns the name of the file of a connection, if there are several files. Secrets are asterisks unless
    `secrets`. `shown_bytes` of each packet are kept; the page shows how many more there were. After `most` rows, or
    MOST_CHARACTERS, rows are only counted, and the page says how many. Text from peers is embedded as data only, never
    as markup.
    """

    def __init__(
        self, out: TextIO, title: str, *, secrets: bool = False, shown_bytes: int = 65_536, most: int = MOST_ROWS,
        file_of: Callable[[int], str] | None = None,
    ) -> None:  # fmt: skip
        self.out = out
        self.secrets = secrets
        self.shown_bytes = shown_bytes
        self.rows = 0
        self.most = most
        self.left_out: Counter[str] = Counter()
        """What the page does not have: `packets`, `others`, and findings by severity."""
        self.file_of = file_of
        self.forms = PacketForms(secrets=secrets, shown_bytes=shown_bytes)
        self.block = PageBlock(file_of)
        self.statements: set[str] = set()
        self._characters = out.write(_opening(title))

    def add(self, item: TrafficItem) -> None:
        """Add a packet with its findings, a gap, a remark, or the end of a connection or of one of its directions."""
        if self.rows >= self.most:
            self._leave_out(item)
            return
        self.rows += 1
        if isinstance(item, PacketInContext):
            self._packet(item)
        elif isinstance(item, GapSeen):
            self._gap(item)
        else:
            self._event(item)
        block = self.block
        if len(block.rows) >= BLOCK_ROWS or block.size_bytes >= BLOCK_BYTES:
            self._flush()

    def close(self) -> None:
        """Write the remaining rows and the statements that findings cite; the file stays open."""
        self._flush()
        cited = {id: [row.section, row.text] for id in sorted(self.statements) if (row := statement(id))}
        end = {"statements": cited, "left_out": dict(self.left_out)}
        self.out.write(f'<script type="application/json" id="end">{_json(end)}</script>\n')
        self.out.write("</body>\n</html>\n")

    def _packet(self, known: PacketInContext) -> None:
        seen, packet, topic, client, findings = known
        block, data = self.block, seen.data
        form = self.forms.form(seen, packet, findings or ())
        if len(data) > self.shown_bytes or form.hidden:
            data = self._shown(form, data)
        summary = trait = number = -1
        if form.named:
            summary, trait = block.string(form.summary(packet)), block.trait(traits_of(form, packet))
        if topic is not None and topic.name is not None:
            number = block.topic(topic.name)
        id = getattr(packet, "packet_id", None)
        block.row(
            PACKET, seen, client, block.form(form, len(data)), data, seen.offset,
            number, -1 if id is None else id, summary, trait,
        )  # fmt: skip
        for finding in findings or ():
            self._finding(finding)

    def _shown(self, form: PacketForm, data: bytes) -> bytes:
        shown = bytearray(data[: self.shown_bytes])
        for start, stop in clipped(form.hidden, 0, len(shown)):
            shown[start:stop] = b"*" * (stop - start)
        return bytes(shown)

    def _event(self, event: Remark | Closed) -> None:
        kind, word = (CLOSED, "closed") if isinstance(event, Closed) else (REMARK, "remark")
        message = _CLOSINGS.get(event.how, event.how) if isinstance(event, Closed) else event.message
        self.block.row(kind, event, "", self.block.event(word, 0, remark(message), 0, 0), b"")
        if isinstance(event, Remark) and event.finding:
            self._finding(event.finding)

    def _gap(self, gap: GapSeen) -> None:
        # The secrets of missing or unreadable bytes cannot be located, so all of them are hidden.
        shown = gap.data[: self.shown_bytes] if self.secrets else b""
        hidden = len(gap.data) - len(shown)
        form = self.block.event("gap", gap.length or 0, remark(gap.message), len(shown), hidden)
        self.block.row(GAP, gap, "", form, shown, gap.offset)
        self.block.finding(gap_severity(gap), 0, 0, 0, (gap.message, "", ""), end_of_gap(gap))

    def _finding(self, finding: Finding) -> None:
        if finding.statement:
            self.statements.add(finding.statement)
        self.block.finding(
            finding.severity, finding.span.start, finding.span.length, finding.mask,
            (finding.message, finding.statement, finding.path), finding.at_fault,
        )  # fmt: skip

    def _leave_out(self, item: TrafficItem) -> None:
        packet = isinstance(item, PacketInContext)
        self.left_out["packets" if packet else "others"] += 1
        if isinstance(item, PacketInContext):
            self.left_out.update(each.severity for each in item.findings or ())
        elif isinstance(item, GapSeen):
            self.left_out[gap_severity(item)] += 1
        elif isinstance(item, Remark) and item.finding:
            self.left_out[item.finding.severity] += 1

    def _flush(self) -> None:
        if self.block.rows:
            text = self.block.text()
            self._characters += self.out.write(f'<script type="text/plain" class="block">{text}</script>\n')
            self.block = PageBlock(self.file_of)
            if self._characters > MOST_CHARACTERS:
                self.most = self.rows


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

"""The verdicts of one peer, or of several side by side, as a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...common.escape import escape
from ...common.files import replacing
from ...lab.conform.playing import BROKEN, KEPT, NOT_EXERCISED
from ...report.document import document
from ...report.markup import Markup, join, tag
from ...spec.statements import Statement, statement, statements
from .records import PeerVerdicts

SIGNS = {KEPT: ("kept", "kept"), BROKEN: ("broken", "broken"), NOT_EXERCISED: ("\N{MIDDLE DOT}", "open")}
"""What stands in a cell for a verdict, and its class."""


def write_page(path: str, peers: Sequence[PeerVerdicts]) -> None:
    """Write the page of some peers to a file; raises UserError for one that cannot be made."""
    with replacing(path) as out:
        out.write(page(peers))


def page(peers: Sequence[PeerVerdicts]) -> str:
    """Return the page of some peers."""
    names = ", ".join(escape(peer.name) for peer in peers)
    title = f"MQTT conformance: {names}"
    versions = list(dict.fromkeys(each.version for each in _rows(peers)))
    header = tag("header", tag("h1", title), tag("p", "Which statements of the specification are kept, by number."))
    links = [tag("li", tag("a", f"MQTT {version}", href=f"#v{version}")) for version in versions]
    links.append(tag("li", tag("a", "What is broken", href="#broken")))
    sections = [_version(version, peers) for version in versions]
    body = [
        header, tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *sections, _failures(peers), class_="wide"), tag("footer", "Made by mqttpub conform."),
    ]  # fmt: skip
    return document(title, join(body))


def _rows(peers: Iterable[PeerVerdicts]) -> list[Statement]:
    """Return the statements that a peer has a verdict on, newest version first, in the order of the text."""
    named = {row["statement"] for peer in peers for row in peer.rows}
    return [each for each in statements() if each.id in named]


def _version(version: str, peers: Sequence[PeerVerdicts]) -> Markup:
    rows = [each for each in _rows(peers) if each.version == version]
    by_peer = [{row["statement"]: row for row in peer.rows} for peer in peers]
    heads = [tag("th", heading, scope="col") for heading in ("Statement", *(escape(peer.name) for peer in peers), "")]
    counts = (_totals(rows, found) for found in by_peer)
    totals = tag("tr", tag("td", "kept / broken / not exercised"), *counts, tag("td", ""))
    body = []
    for each in rows:
        cells = (_cell(found.get(each.id)) for found in by_peer)
        body.append(tag("tr", tag("td", each.label), *cells, tag("td", each.text, class_="text")))
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", totals, *body), class_="verdicts")
    return tag("section", tag("h2", f"MQTT {version}"), table, id=f"v{version}")


def _totals(rows: Sequence[Statement], found: Mapping[str, Mapping[str, Any]]) -> Markup:
    words = [found[each.id]["verdict"] for each in rows if each.id in found]
    return tag("td", " / ".join(str(words.count(word)) for word in (KEPT, BROKEN, NOT_EXERCISED)))


def _cell(row: Mapping[str, Any] | None) -> Markup:
    if row is None:
        return tag("td", "")
    sign, kind = SIGNS[row["verdict"]]
    return tag("td", sign, class_=kind, title=escape(str(row.get("why", ""))))


def _failures(peers: Sequence[PeerVerdicts]) -> Markup:
    found = [(peer, row) for peer in peers for row in peer.rows if row["verdict"] == BROKEN]
    parts = [part for peer, row in found for part in _failure(peer, row)] or [tag("p", "Nothing.")]
    return tag("section", tag("h2", "What is broken"), *parts, id="broken")


def _failure(peer: PeerVerdicts, row: Mapping[str, Any]) -> Iterator[Markup]:
    law = statement(row["statement"])
    yield tag("h3", f"{escape(peer.name)}: {law.id}")
    cases = ", ".join(escape(str(each)) for each in row.get("cases", ()))
    yield tag("p", f"{law.text} {escape(str(row.get('why', '')))} (case {cases})", class_="about")
    yield tag("pre", "\n".join(_packets(row)), class_="packets")


def _packets(row: Mapping[str, Any]) -> Iterator[str]:
    for packet in row.get("packets", ()):
        sign = ">" if packet.get("direction") == "client" else "<"
        label = f"[{escape(str(packet['connection']))}] " if packet.get("connection") else ""
        data = str(packet.get("hex", ""))
        yield f"{label}{sign} {' '.join(data[at : at + 2] for at in range(0, min(len(data), 400), 2))}"

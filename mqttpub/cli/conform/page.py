"""The verdicts of one peer, or of several side by side, as a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ...common.escape import escape
from ...common.files import replacing
from ...lab.conform.cases import VERSIONS
from ...lab.conform.limits import Agreement, limits, limits_by_name
from ...lab.conform.playing import BROKEN, KEPT, NOT_EXERCISED
from ...report.document import document
from ...report.markup import Markup, join, tag
from ...spec.packets import PACKETS
from ...spec.statements import Statement, statement, statements
from ...spec.versions import Version
from .limits import seen_text, value_text
from .records import PeerVerdicts
from .screen import section_heading

SIGNS = {KEPT: (KEPT, "kept"), BROKEN: (BROKEN, "broken"), NOT_EXERCISED: ("\N{MIDDLE DOT}", "open")}
"""What stands in a cell for a verdict, and its class."""
DIFFERENT = (Agreement.ALLOWS_LESS, Agreement.TOLERATES_MORE)
INTRODUCTION = (
    "Which statements of the specification are kept, by number, and what a broker allows. "
    f"{SIGNS[NOT_EXERCISED][0]} stands for not exercised: nothing put the statement to the test."
)
MOST_HEX = 400
"""Digits of a packet that are shown, at most."""


def write_page(path: str, peers: Sequence[PeerVerdicts]) -> None:
    """Write the page of some peers to a file; raises UserError for one that cannot be made."""
    with replacing(path) as out:
        out.write(page(peers))


def page(peers: Sequence[PeerVerdicts]) -> str:
    """Return the page of some peers."""
    names = ", ".join(escape(peer.name) for peer in peers)
    title = f"MQTT conformance: {names}"
    tried = {each.version for each in _rows(peers)}.union(row["version"] for peer in peers for row in peer.limits)
    versions = [version.label for version in sorted(Version, reverse=True) if version.label in tried]
    header = tag("header", tag("h1", title), tag("p", INTRODUCTION))
    links = [tag("li", tag("a", f"MQTT {version}", href=f"#v{version}")) for version in versions]
    links.append(tag("li", tag("a", "What is broken", href="#broken")))
    sections = [_version(version, peers) for version in versions]
    body = [
        header, tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *sections, _failures(peers), class_="matrix"), tag("footer", "Made by mqttpub conform."),
    ]  # fmt: skip
    return document(title, join(body))


def _rows(peers: Iterable[PeerVerdicts]) -> list[Statement]:
    """Return the statements that a peer has a verdict on, newest version first, in the order of the text."""
    named = {row["statement"] for peer in peers for row in peer.rows}
    return [each for each in statements() if each.id in named]


def _version(version: str, peers: Sequence[PeerVerdicts]) -> Markup:
    tables = [tag("h2", f"MQTT {version}"), *_statements(version, peers), *_limits(version, peers)]
    return tag("section", *tables, id=f"v{version}")


def _names(peers: Sequence[PeerVerdicts], alone: str) -> list[str]:
    """Return the headings of the columns of peers; that of one alone is another."""
    return [escape(peer.name) for peer in peers] if len(peers) > 1 else [alone]


def _head(*headings: str) -> Markup:
    return tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings)))


def _statements(version: str, peers: Sequence[PeerVerdicts]) -> Iterator[Markup]:
    rows = [each for each in _rows(peers) if each.version == version]
    if not rows:
        return
    by_peer = [{row["statement"]: row for row in peer.rows} for peer in peers]
    names = _names(peers, "Verdict")
    bodies = [tag("tbody", *(_total(word, rows, by_peer, names) for word in SIGNS), class_="totals")]
    for heading, group in groupby(rows, section_heading):
        title = tag("tr", tag("th", heading, scope="rowgroup", colspan=str(len(names) + 2)))
        bodies.append(tag("tbody", title, *(_row(each, by_peer, names) for each in group)))
    yield tag("table", _head("Statement", "What it demands", *names), *bodies, class_="verdicts")


def _limits(version: str, peers: Sequence[PeerVerdicts]) -> Iterator[Markup]:
    """Yield the table of limits by peers, if a peer has any."""
    by_peer = [{row["limit"]: row for row in peer.limits if row["version"] == version} for peer in peers]
    names, body = _names(peers, "What it allows"), []
    for limit in limits(VERSIONS[version]):
        if any(limit.name in found for found in by_peer):
            cells = (_limit_cell(found.get(limit.name), name) for found, name in zip(by_peer, names, strict=True))
            body.append(tag("tr", tag("td", limit.title), *cells))
    if body:
        yield tag("table", _head("Limit", *names), tag("tbody", *body), class_="verdicts limits")


def _limit_cell(row: Mapping[str, Any] | None, name: str) -> Markup:
    if row is None:
        return tag("td", "", data_of=name)
    kind = {} if row["verdict"] == KEPT else {"class_": SIGNS[row["verdict"]][1]}
    return tag("td", _allowed(row), **kind, data_of=name, title=escape(str(row.get("why", ""))))


def _total(word: str, rows: Sequence[Statement], by_peer: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Markup:
    cells = []
    for name, found in zip(names, by_peer, strict=True):
        count = sum(each.id in found and found[each.id]["verdict"] == word for each in rows)
        cells.append(tag("td", str(count), class_=SIGNS[word][1] if count else "open", data_of=name))
    return tag("tr", tag("td", ""), tag("td", word, class_="text"), *cells)


def _row(law: Statement, by_peer: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Markup:
    found = [verdicts.get(law.id) for verdicts in by_peer]
    cells = (_cell(row, name) for row, name in zip(found, names, strict=True))
    # With one peer there is room for the reason; among several it is shown to a pointer.
    why = str((found[0] or {}).get("why", "")) if len(found) == 1 else ""
    text = [law.text, *([tag("small", escape(why))] if why else [])]
    return tag("tr", tag("td", law.label), tag("td", *text, class_="text"), *cells)


def _cell(row: Mapping[str, Any] | None, name: str) -> Markup:
    if row is None:
        return tag("td", "", data_of=name)
    sign, kind = SIGNS[row["verdict"]]
    return tag("td", sign, class_=kind, data_of=name, title=escape(str(row.get("why", ""))))


def _allowed(row: Mapping[str, Any]) -> str:
    """Return what a peer allows, and what it declares, or must allow, if that is not the same."""
    differs = row.get("agreement") in DIFFERENT
    return seen_text(row) + (f", not {value_text(row, 'declared')}" if differs else "")


def _failures(peers: Sequence[PeerVerdicts]) -> Markup:
    parts = [part for peer in peers for part in _failures_of(peer)]
    parts += [_less(peer, row) for peer in peers for row in peer.limits if row["verdict"] == BROKEN]
    return tag("section", tag("h2", "What is broken"), *(parts or [tag("p", "Nothing.")]), id="broken")


def _less(peer: PeerVerdicts, row: Mapping[str, Any]) -> Markup:
    heading = f"{escape(peer.name)}: {limits_by_name()[row['limit']].title}, MQTT {row['version']}"
    why = f"{_allowed(row)}: {escape(str(row.get('why', '')))}"
    return tag("article", tag("h3", heading), tag("p", why, class_="why"))


def _failures_of(peer: PeerVerdicts) -> Iterator[Markup]:
    """Yield what a peer broke; statements that the same packets show stand together."""
    by_packets: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in peer.rows:
        if row["verdict"] == BROKEN:
            by_packets.setdefault(tuple(_packets(row)), []).append(row)
    for packets, rows in by_packets.items():
        parts = [tag("h3", f"{escape(peer.name)}: {', '.join(row['statement'] for row in rows)}")]
        for row in rows:
            cases = ", ".join(escape(str(each)) for each in row.get("cases", ()))
            parts.append(tag("p", statement(row["statement"]).text))
            parts.append(tag("p", f"{escape(str(row.get('why', '')))} (case {cases})", class_="why"))
        yield tag("article", *parts, tag("div", *(tag("div", line) for line in packets), class_="packets"))


def _packets(row: Mapping[str, Any]) -> Iterator[str]:
    for packet in row.get("packets", ()):
        sign = ">" if packet.get("direction") == "client" else "<"
        label = f"[{escape(str(packet['connection']))}] " if packet.get("connection") else ""
        data = str(packet.get("hex", ""))
        shown = " ".join(data[at : at + 2] for at in range(0, min(len(data), MOST_HEX), 2))
        rest = f" ... {len(data) // 2:,} bytes" if len(data) > MOST_HEX else ""
        yield f"{label}{sign} {_name(data):<11} {escape(shown)}{rest}"


def _name(data: str) -> str:
    """Return the name of a packet, in hexadecimal digits."""
    try:
        kind = PACKETS.get(int(data[:1], 16))
    except ValueError:
        kind = None
    return kind.name if kind else "?"

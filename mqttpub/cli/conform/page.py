"""The verdicts of one peer, or of several side by side, as a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...common.escape import escape
from ...common.files import replacing
from ...lab.conform.cases import VERSIONS
from ...lab.conform.limits import Agreement, limits, limits_by_name
from ...lab.conform.playing import BROKEN, KEPT, NOT_EXERCISED
from ...report.document import document
from ...report.markup import Markup, join, tag
from ...spec.statements import Statement, statement, statements
from ...spec.versions import Version
from .limits import seen_text, value_text
from .records import PeerVerdicts

SIGNS = {KEPT: ("kept", "kept"), BROKEN: ("broken", "broken"), NOT_EXERCISED: ("\N{MIDDLE DOT}", "open")}
"""What stands in a cell for a verdict, and its class."""
DIFFERENT = (Agreement.ALLOWS_LESS, Agreement.TOLERATES_MORE)
INTRODUCTION = "Which statements of the specification are kept, by number, and what a broker allows."


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
        tag("main", *sections, _failures(peers), class_="wide"), tag("footer", "Made by mqttpub conform."),
    ]  # fmt: skip
    return document(title, join(body))


def _rows(peers: Iterable[PeerVerdicts]) -> list[Statement]:
    """Return the statements that a peer has a verdict on, newest version first, in the order of the text."""
    named = {row["statement"] for peer in peers for row in peer.rows}
    return [each for each in statements() if each.id in named]


def _version(version: str, peers: Sequence[PeerVerdicts]) -> Markup:
    tables = [tag("h2", f"MQTT {version}"), *_statements(version, peers), *_limits(version, peers)]
    return tag("section", *tables, id=f"v{version}")


def _statements(version: str, peers: Sequence[PeerVerdicts]) -> Iterator[Markup]:
    rows = [each for each in _rows(peers) if each.version == version]
    if not rows:
        return
    by_peer = [{row["statement"]: row for row in peer.rows} for peer in peers]
    counts = (_totals(rows, found) for found in by_peer)
    totals = tag("tr", tag("td", "kept / broken / not exercised"), *counts, tag("td", ""))
    body = []
    for each in rows:
        cells = (_cell(found.get(each.id)) for found in by_peer)
        body.append(tag("tr", tag("td", each.label), *cells, tag("td", each.text, class_="text")))
    yield tag("table", _head("Statement", peers, [""]), tag("tbody", totals, *body), class_="verdicts")


def _head(first: str, peers: Sequence[PeerVerdicts], last: Sequence[str] = ()) -> Markup:
    headings = (first, *(escape(peer.name) for peer in peers), *last)
    return tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings)))


def _limits(version: str, peers: Sequence[PeerVerdicts]) -> Iterator[Markup]:
    """Yield the table of limits by peers, if a peer has any."""
    by_peer = [{row["limit"]: row for row in peer.limits if row["version"] == version} for peer in peers]
    body = []
    for limit in limits(VERSIONS[version]):
        if any(limit.name in found for found in by_peer):
            cells = (_limit_cell(found.get(limit.name)) for found in by_peer)
            body.append(tag("tr", tag("td", limit.title), *cells))
    if body:
        yield tag("table", _head("Limit", peers), tag("tbody", *body), class_="verdicts limits")


def _limit_cell(row: Mapping[str, Any] | None) -> Markup:
    if row is None:
        return tag("td", "")
    kind = {} if row["verdict"] == KEPT else {"class_": SIGNS[row["verdict"]][1]}
    return tag("td", _allowed(row), **kind, title=escape(str(row.get("why", ""))))


def _totals(rows: Sequence[Statement], found: Mapping[str, Mapping[str, Any]]) -> Markup:
    words = [found[each.id]["verdict"] for each in rows if each.id in found]
    return tag("td", " / ".join(str(words.count(word)) for word in (KEPT, BROKEN, NOT_EXERCISED)))


def _cell(row: Mapping[str, Any] | None) -> Markup:
    if row is None:
        return tag("td", "")
    sign, kind = SIGNS[row["verdict"]]
    return tag("td", sign, class_=kind, title=escape(str(row.get("why", ""))))


def _allowed(row: Mapping[str, Any]) -> str:
    """Return what a peer allows, and what it declares, or must allow, if that is not the same."""
    differs = row.get("agreement") in DIFFERENT
    return seen_text(row) + (f", not {value_text(row, 'declared')}" if differs else "")


def _failures(peers: Sequence[PeerVerdicts]) -> Markup:
    found = [(peer, row) for peer in peers for row in peer.rows if row["verdict"] == BROKEN]
    parts = [part for peer, row in found for part in _failure(peer, row)]
    less = [(peer, row) for peer in peers for row in peer.limits if row["verdict"] == BROKEN]
    parts += [part for peer, row in less for part in _less(peer, row)]
    return tag("section", tag("h2", "What is broken"), *(parts or [tag("p", "Nothing.")]), id="broken")


def _less(peer: PeerVerdicts, row: Mapping[str, Any]) -> Iterator[Markup]:
    yield tag("h3", f"{escape(peer.name)}: {limits_by_name()[row['limit']].title}, MQTT {row['version']}")
    yield tag("p", f"{_allowed(row)}: {escape(str(row.get('why', '')))}", class_="about")


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

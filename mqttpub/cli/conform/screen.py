"""What `conform` prints for people: the verdicts by section, and each failure with its bytes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ...common.escape import escape
from ...common.words import counted
from ...lab.conform.judge import SeenPacket
from ...lab.conform.playing import BROKEN, KEPT, NOT_EXERCISED, CaseResult
from ...lab.conform.verdicts import StatementVerdict
from ...spec.statements import Statement
from ...spec.versions import Version
from ...traffic.context import ContextTracker, PacketInContext
from ...traffic.events import Endpoints, PacketSeen
from ...view.diagram.ladder import ladder
from ...view.terminal.cells import Line, wrap
from ..step.report import Played
from ..step.report import lines as played_lines

SECTIONS = {
    "1": "Data", "2": "Packets", "3.1": "CONNECT", "3.2": "CONNACK", "3.3": "PUBLISH", "3.4": "PUBACK",
    "3.5": "PUBREC", "3.6": "PUBREL", "3.7": "PUBCOMP", "3.8": "SUBSCRIBE", "3.9": "SUBACK", "3.10": "UNSUBSCRIBE",
    "3.11": "UNSUBACK", "3.12": "PINGREQ", "3.13": "PINGRESP", "3.14": "DISCONNECT", "3.15": "AUTH",
    "4.1": "Session state", "4.3": "Quality of Service", "4.4": "Message delivery retry", "4.5": "Message receipt",
    "4.6": "Message ordering", "4.7": "Topic Names and Topic Filters",
}  # fmt: skip
"""Titles of sections that 5.0 and 3.1.1 have in common."""
_OF_VERSION = {
    Version.V5.label: {
        "4.8": "Subscriptions",
        "4.9": "Flow control",
        "4.12": "Enhanced authentication",
        "4.13": "Errors",
        "6.0": "WebSocket",
    },
    Version.V311.label: {"4.8": "Errors", "6.0": "WebSocket"},
}
SIGNS = {KEPT: ("kept    ", "flag"), BROKEN: ("BROKEN  ", "error")}
UNKNOWN = ("-       ", "dim")
MOST_DRAWN = 60
"""Packets of a failure that are drawn, at most."""
MOST_PRINTED = 8
"""Lines that a client printed that are shown, at most: the last ones."""


def opening(version: Version, cases: int, limits: int, jobs: int, seconds: float, where: str) -> Line:
    """Return the line before a run: how many cases and limits take how long, and where they do."""
    played = [counted(cases, "case")] if cases or not limits else []
    played += [counted(limits, "limit")] if limits else []
    text = f"  {' and '.join(played)}, {jobs} at a time; about {seconds:.0f} s {where}"
    return [(f"MQTT {version.label}", "heading"), (text, "dim")]


def sections(verdicts: Iterable[StatementVerdict], width: int) -> Iterator[Line]:
    """Yield the verdicts by section."""
    for heading, group in groupby(verdicts, lambda each: section_heading(each.statement)):
        yield []
        yield [(heading, "type")]
        for each in group:
            yield from _verdict(each, width)


def section_heading(law: Statement) -> str:
    """Return the number and title of the section that a statement stands under."""
    first, _, rest = law.section.partition(".")
    section = f"{first}.{rest.partition('.')[0]}" if first in ("3", "4", "6") and rest else first
    if law.version == Version.V31.label:
        return section
    return f"{section} {_OF_VERSION[law.version].get(section) or SECTIONS.get(section, '')}".rstrip()


def _verdict(verdict: StatementVerdict, width: int) -> Iterator[Line]:
    sign, style = SIGNS.get(verdict.verdict, UNKNOWN)
    text = f"{verdict.statement.label}  {verdict.statement.text}"
    for number, line in enumerate(wrap([(text, "dim" if style == "dim" else "")], width - 10)):
        yield [("  ", ""), (sign, style) if not number else (" " * 8, ""), *line]
    if verdict.why:
        for line in wrap([(escape(verdict.why), style)], width - 12):
            yield [(" " * 12, ""), *line]


def failures(verdicts: Iterable[StatementVerdict], width: int, *, ascii: bool, secrets: bool) -> Iterator[Line]:
    """Yield each broken statement with the cases that show it; a case is drawn once."""
    drawn: dict[str, str] = {}
    for verdict in verdicts:
        if verdict.verdict != BROKEN:
            continue
        yield []
        yield from wrap([(f"{verdict.statement.id}  ", "error"), (verdict.statement.text, "")], width)
        for result in verdict.results[:1]:
            if earlier := drawn.get(result.case.name):
                yield [(f"  case {result.case.name}, as drawn for {earlier}", "dim")]
                continue
            drawn[result.case.name] = verdict.statement.id
            yield from failure(result, width, ascii=ascii, secrets=secrets)


def limit_failures(results: Iterable[CaseResult], width: int, *, ascii: bool, secrets: bool) -> Iterator[Line]:
    """Yield each limit that is less than it must be, with the trial that shows it."""
    for result in results:
        if result.verdict == BROKEN:
            yield []
            yield from failure(result, width, ascii=ascii, secrets=secrets)


def failure(result: CaseResult, width: int, *, ascii: bool, secrets: bool) -> Iterator[Line]:
    """Yield how a case failed: the step, the bytes, what lint found, and the sequence diagram."""
    yield [(f"  case {result.case.name}: {escape(result.case.title)}", "")]
    if result.failure:
        for line in played_lines(Played(result.case.name, result.seconds, result.failure), secrets=secrets):
            yield [("  ", ""), *line]
    elif result.why:
        yield [(f"  {escape(result.why)}", "error")]
    for broken in result.broken:
        yield [
            ("  ", ""),
            (f"{broken.severity}  ", broken.severity),
            (f"{escape(broken.message)}  {broken.statement}", ""),
        ]
        if broken.packet:
            yield [(f"    {broken.packet.frame.data[:48].hex(' ')}", "dim")]
    yield from ladder(_items(result.packets[:MOST_DRAWN]), width=width, ascii=ascii)
    if printed := result.output.decode("utf-8", "replace").splitlines()[-MOST_PRINTED:]:
        yield [("  the client printed", "dim")]
        for text in printed:
            yield [(f"    {escape(text)}", "")]


def _items(packets: Iterable[SeenPacket]) -> Iterator[PacketInContext]:
    """Yield packets as the diagram takes them, those of each connection together."""
    from ...codec.decode import decode_packet

    numbers: dict[str, int] = {}
    tracker = ContextTracker()
    items = []
    for seen in packets:
        number = numbers.setdefault(seen.label, len(numbers) + 1)
        frame = seen.frame
        event = PacketSeen(
            Endpoints(number, "", ""), int(seen.time_s * 1e9), 0, frame.data, frame.offset, frame.direction,
            seen.version, False,
        )  # fmt: skip
        items.append(tracker.packet(event, decode_packet(frame.data, seen.version), seen.findings))
    return iter(sorted(items, key=lambda item: item.event.ends.number))


def summary(
    name: str, version: Version, verdicts: Sequence[StatementVerdict], limits: Sequence[CaseResult], seconds: float
) -> Line:
    """Return the line after a run."""
    line: Line = [(f"MQTT {version.label}  ", "heading")]
    if verdicts or not limits:
        words = [each.verdict for each in verdicts]
        broken, violations = words.count(BROKEN), sum(each.is_violation for each in verdicts)
        only = f" ({counted(broken - violations, 'recommendation')} among them)" if broken > violations else ""
        line += [
            (f"{words.count(KEPT)} kept, ", ""), (f"{broken} broken{only}", "error" if broken else ""),
            (f", {words.count(NOT_EXERCISED)} not exercised", ""), ("; " if limits else "", ""),
        ]  # fmt: skip
    if limits:
        less = sum(each.verdict == BROKEN for each in limits)
        line += [(f"{counted(len(limits), 'limit')}, ", ""), (f"{less} broken", "error" if less else "")]
    return [*line, (f"  {escape(name)}, {seconds:.1f} s", "dim")]

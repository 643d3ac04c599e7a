"""What the summary on a terminal and its JSON have of payloads."""

from collections.abc import Iterator
from typing import Any

from ...common.times import iso
from ...view.terminal.cells import Line, Segment, wrap
from ..lines import count_cell, titled_table
from ..words import name_text, time_text
from .answers import PayloadAnswers, Row, SchemaVersion, TopicDrift
from .words import UNDECODED, faults_text, form_text, node_name, not_kept, remarks

ROWS = 5
"""Topics and edge nodes in a table, at most."""
_NO_TOPIC = "(alias not set, or not UTF-8)"
_ONLINE = {True: ("online", ""), False: ("offline", "warning"), None: ("-", "dim")}


def _kinds(answers: PayloadAnswers, width: int) -> Iterator[Line]:
    if answers.kinds:
        names = ("client_messages", "server_messages", "bytes", "topics")
        yield from titled_table(
            "Payloads by kind", ("", "from clients", "from servers", "bytes", "topics"),
            ([(row["kind"], "type"), *(count_cell(row[name]) for name in names)] for row in answers.kinds), width,
        )  # fmt: skip


def _drift(answers: PayloadAnswers, width: int) -> Iterator[Line]:
    if answers.drift:
        columns = ("topic", "changed first", "record", "forms", "changes")
        yield from titled_table(
            "Topics whose payloads changed their form", columns, map(_drift_row, answers.drift[:ROWS]), width, 2
        )
        for each in answers.drift[:ROWS]:
            said = form_text(each.versions[1], each.versions[0])
            yield from _indented([(f"{name_text(each.topic, _NO_TOPIC)}: ", "topic"), (said, "")], width)


def _drift_row(drift: TopicDrift) -> list[Segment]:
    first = drift.versions[1].first
    return [
        (name_text(drift.topic, _NO_TOPIC), "topic"), (time_text(first["time"]), "dim"), count_cell(first["frame"]),
        count_cell(drift.forms), count_cell(drift.changes, "warning"),
    ]  # fmt: skip


def _nodes(answers: PayloadAnswers, width: int) -> Iterator[Line]:
    rows = answers.sparkplug.nodes[:ROWS] if answers.sparkplug else []
    if rows:
        yield from titled_table(
            "Edge nodes of Sparkplug B", ("", "at the end", "births", "deaths", "data", "seq missing", "faults"),
            map(_node_row, rows), width, 2,
        )  # fmt: skip
        for row in rows:
            if row["faults"]:
                yield from _indented([(f"{node_name(row)}: ", "text"), (faults_text(row), "warning")], width)


def _node_row(row: Row) -> list[Segment]:
    return [
        (node_name(row), "text"), _ONLINE[row["online"]],
        *(count_cell(row[name]) for name in ("births", "deaths", "data")),
        count_cell(row["missing"], "warning"), count_cell(row["faults"], "warning"),
    ]  # fmt: skip


def _hosts(answers: PayloadAnswers, width: int) -> Iterator[Line]:
    rows = answers.sparkplug.hosts[:ROWS] if answers.sparkplug else []
    if rows:
        yield from titled_table(
            "Host applications of Sparkplug B", ("", "at the end", "online", "offline"),
            ([(node_name(row), "text"), _ONLINE[row["online"]], count_cell(row["births"]), count_cell(row["deaths"])]
             for row in rows), width, 2,
        )  # fmt: skip


def _remarks(answers: PayloadAnswers, width: int) -> Iterator[Line]:
    said = (not_kept(answers), *remarks(answers), UNDECODED if answers.undecoded else "")
    return ([(sentence, "dim")] for sentence in said if sentence)


def _indented(line: Line, width: int) -> Iterator[Line]:
    """Yield a line, broken where it is long; what follows the first one is indented more."""
    for number, each in enumerate(wrap(line, width - 4)):
        yield [("    " if number else "  ", ""), *each]


BLOCKS = (_kinds, _drift, _nodes, _hosts, _remarks)
"""Functions from answers and the width of the terminal to the lines of a block, none where there is nothing to say."""


# JSON


def payload_record(answers: PayloadAnswers | None) -> dict[str, Any] | None:
    """Return the answers as values for JSON; times are ISO 8601 in UTC."""
    if answers is None:
        return None
    found = answers.sparkplug
    return {
        "kept": answers.kept, "kinds": answers.kinds, "drifting": answers.drifting,
        "drift": [
            {**each._asdict(), "versions": [_version(version) for version in each.versions]} for each in answers.drift
        ],
        "sparkplug": found and {
            "totals": found.totals, "nodes": [_node(row) for row in found.nodes],
            "hosts": [_node(row) for row in found.hosts],
        },
    }  # fmt: skip


def _version(version: SchemaVersion) -> dict[str, Any]:
    return {**version._asdict(), "first": _timed(version.first), "last": _timed(version.last)}


def _node(row: Row) -> Row:
    shown = _timed({name: value for name, value in row.items() if not name.startswith("all_")}, "first", "last")
    for name in ("place", "rank", "nodes", "hosts"):
        shown.pop(name, None)
    return {
        **shown, "examples": [_timed(each) for each in row["examples"]],
        "spans": [_timed(each, "begin", "end") for each in row["spans"]],
    }  # fmt: skip


def _timed(row: Row, *names: str) -> Row:
    """Return a row with times as ISO 8601."""
    times = names or ("time",)
    return {name: iso(value * 1000) if name in times and value is not None else value for name, value in row.items()}

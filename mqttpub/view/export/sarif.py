"""Findings as SARIF 2.1.0, which code hosts and editors turn into annotations."""

from collections.abc import Iterable, Iterator
from json import dumps
from os import fsencode
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ...codec.tree import Finding
from ...common.escape import escape, remark
from ...reading.judged import JudgedEvent
from ...spec.statements import statement
from ...traffic.clients import display_name
from ...traffic.events import Closed
from ..traffic.findings import records
from ..traffic.statements import description

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_OF_RESULT = {"severity", "statement", "message", "file", "line"}
"""Members of a record that have a place of their own in a SARIF result."""
_INFORMATION = "https://docs.oasis-open.org/mqtt/mqtt/v5.0/mqtt-v5.0.html"


class Sarif:
    """Makes the text of one log with one run; results are not held in memory.

    `version` is that of the program.
    """

    def __init__(self, version: str, *, secrets: bool = False) -> None:
        self._version = version
        self._secrets = secrets
        self._rules: dict[str, int] = {}

    def begin(self) -> str:
        """Return the text before the results."""
        return f'{{"$schema":{dumps(SCHEMA)},"version":"2.1.0","runs":[{{"results":['

    def results(self, case: JudgedEvent) -> Iterator[str]:
        """Yield the results of an event as JSON, with a comma before each but the first of the log."""
        for each, known in zip(case.findings, records(case, secrets=self._secrets), strict=True):
            comma = "," if self._rules else ""
            yield comma + dumps(self._result(case, each, known))

    def end(self, failures: Iterable[str], remarks: Iterable[str]) -> str:
        """Return the text after the results: the rules with results, and what could not be read."""
        failed, notes = _notifications("error", failures), _notifications("note", remarks)
        driver = {
            "name": "mqttpub", "version": self._version, "informationUri": _INFORMATION,
            "rules": [self._rule(id) for id in self._rules],
        }  # fmt: skip
        invocation = {"executionSuccessful": not failed, "toolExecutionNotifications": failed + notes}
        run = {"tool": {"driver": driver}, "invocations": [invocation], "columnKind": "unicodeCodePoints"}
        return f"],{dumps(run)[1:-1]}}}]}}"

    def _result(self, case: JudgedEvent, finding: Finding, known: dict[str, Any]) -> dict[str, Any]:
        id = finding.statement
        index = self._rules.setdefault(id, len(self._rules))
        return {
            "ruleId": id,
            "ruleIndex": index,
            "level": finding.severity,
            "message": {"text": f"{_where(case, finding)}: {remark(finding.message)}."},
            "locations": [_location(case, finding)],
            "properties": {key: value for key, value in known.items() if key not in _OF_RESULT},
        }

    def _rule(self, id: str) -> dict[str, Any]:
        row = statement(id)
        about = f"MQTT {row.version}, section {row.section}; {description(row)}"
        return {
            "id": id,
            **_texts(row.text, f"{row.text} ({about})"),
            "help": {"text": f"{row.text}\n\n{about}"},
            "defaultConfiguration": {"level": row.severity},
            "properties": {"tags": ["MQTT", f"MQTT {row.version}"], "class": row.visibility, "binds": row.who},
        }


def _texts(short: str, full: str) -> dict[str, Any]:
    return {"shortDescription": {"text": short}, "fullDescription": {"text": full}}


def _notifications(level: str, texts: Iterable[str]) -> list[dict[str, Any]]:
    return [{"level": level, "message": {"text": remark(text)}} for text in texts]


def _where(case: JudgedEvent, finding: Finding) -> str:
    """Return the packet and its connection in words, for code hosts that show only the message.

    Of the end of a connection, no packet shows which end is at fault, so the words say it.
    """
    event, words = case.event, []
    if case.decoded:
        sender = f" from the {event.direction.value}" if event.direction else ""
        words.append(case.decoded.name + sender)
    if event.record:
        words.append(f"record {event.record}")
    name = display_name(case.client, event.ends)
    of = f"connection {event.ends.number}"
    words.append(of if name == of else f"{of}, {escape(name)}")
    if isinstance(event, Closed) and finding.whose:
        words.append(finding.whose)
    return ", ".join(words)


def _location(case: JudgedEvent, finding: Finding) -> dict[str, Any]:
    event, place = case.event, case.location
    path = [f"connection {event.ends.number}"]
    path += [f"packet {case.number}"] if case.number else []
    logical = {"fullyQualifiedName": "/".join([*path, finding.path]), "kind": "element"}
    location: dict[str, Any] = {"logicalLocations": [logical]}
    if place.name:
        location["physicalLocation"] = {"artifactLocation": {"uri": uri(place.name)}, **_region(case, finding)}
    return location


def _region(case: JudgedEvent, finding: Finding) -> dict[str, Any]:
    """Return the bytes or the line in the file, or the whole file for a capture, whose records hold the bytes."""
    place, (start, stop) = case.location, finding.span
    if place.start is not None and not isinstance(case.event, Closed):
        return {"region": {"byteOffset": place.start + start, "byteLength": stop - start}}
    if place.line:
        return {"region": {"startLine": place.line, "endLine": place.line}}
    return {"region": {"byteOffset": 0, "byteLength": place.size}} if place.size else {}


def uri(name: str) -> str:
    """Return the URI of a file, relative if `name` is a relative path."""
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else quote(fsencode(path.as_posix()))

"""How a replay went, for people and for programs."""

import sys
from collections.abc import Iterator
from typing import Any

from ...common.escape import escape
from ...common.words import counted
from ...lab.replay.result import Difference, SideResult, Totals
from ...view.terminal.cells import Line
from ...view.terminal.style import show
from ..notes import note, print_json

MOST_DIFFERENCES = 20
"""Differences of a connection that are listed; the rest is counted."""
MOST_CONNECTIONS = 100
"""Connections that are listed for people."""
LONGEST_TOPIC = 80
"""Characters of a topic that are shown."""


class ReplayReport:
    """Prints how each connection went once it is over, and the whole at the end."""

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._found: list[Difference] = []
        """Those of connections that are not reported yet, the first of each."""
        self._listed = 0
        self._unlisted = 0

    def __call__(self, found: Difference | SideResult) -> None:
        """Take what is found; the differences of a connection come before its result."""
        if self._json:
            print_json(_difference(found) if isinstance(found, Difference) else _result(found))
        elif isinstance(found, Difference):
            self._found.append(found)
        else:
            differences, self._found = self._found, []
            if self._listed < MOST_CONNECTIONS:
                self._listed += 1
                show(_lines(found, differences), sys.stdout)
            else:
                self._unlisted += 1
        sys.stdout.flush()

    def end(self, totals: Totals) -> None:
        """Print what the run came to, and what was left out."""
        for reason, count in totals.left_out.items():
            note(f"left out, {reason}: {count:,}")
        if self._json:
            print_json(_totals(totals))
            return
        if self._unlisted:
            show([[(f"{counted(self._unlisted, 'more connection')} not listed; --json lists all", "dim")]], sys.stdout)
        show([_summary(totals)], sys.stdout)


def _lines(result: SideResult, differences: list[Difference]) -> Iterator[Line]:
    parts = [f"sent {result.sent:,}"]
    if result.acknowledged:
        parts.append(f"acknowledged {result.acknowledged:,}")
    if result.refused:
        parts.append("refused " + ", ".join(f"{count:,} with {code}" for code, count in result.refused.items()))
    if result.unsent:
        parts.append(f"not sent {result.unsent:,}")
    if result.came or result.captured:
        parts.append(f"received {result.came:,}" + (f" of {result.captured:,}" if result.compared else ""))
    name = f"connection {result.connection}" if result.connection else "connection"
    client = f" {escape(result.client)}" if result.client else ""
    yield [("differs  " if differences else "same     ", "error" if differences else "flag"),
           (f"{name}{client}: {', '.join(parts)}", "")]  # fmt: skip
    for each in differences[:MOST_DIFFERENCES]:
        topic = f"'{_clipped(each.topic)}': " if each.topic and each.what in ("messages",) else ""
        after = f" ({each.times:,} times)" if each.times > 1 else ""
        where = f", first for '{_clipped(each.topic)}'" if each.topic and not topic else ""
        yield [("         ", ""), (f"{topic}{escape(each.message)}{where}{after}", "")]
    if (more := len(differences) - MOST_DIFFERENCES) > 0:
        yield [("         ", ""), (f"and {more:,} more; --json lists all", "dim")]


def _clipped(topic: str) -> str:
    shown = escape(topic)
    return shown if len(shown) <= LONGEST_TOPIC else f"{shown[:LONGEST_TOPIC]}..."


def _summary(totals: Totals) -> Line:
    ran = f"{counted(totals.connections, 'connection')}, {counted(totals.sent, 'message')} sent"
    took = f"in {totals.seconds:.1f} s (captured in {totals.captured_s:.1f} s)"
    found = counted(totals.differences, "difference") if totals.differences else "no difference"
    until = "" if totals.complete else " up to here; the capture was not played to its end"
    return [(f"{ran} {took}: {found}{until}", "error" if totals.differences else "")]


def _difference(each: Difference) -> dict[str, Any]:
    known = {"event": "difference", "connection": each.connection, "client": each.client, "what": each.what,
             "message": each.message, "times": each.times}  # fmt: skip
    more = {"topic": each.topic, "captured": each.captured, "came": each.came, "position": each.position}
    return known | {key: value for key, value in more.items() if value}


def _result(each: SideResult) -> dict[str, Any]:
    return {
        "event": "connection", "connection": each.connection, "client": each.client, "sent": each.sent,
        "acknowledged": each.acknowledged, "refused": dict(each.refused), "not_sent": each.unsent,
        "captured": each.captured, "received": each.came, "compared": each.compared,
        "differences": each.differences,
    }  # fmt: skip


def _totals(totals: Totals) -> dict[str, Any]:
    return {
        "event": "replay", "connections": totals.connections, "sent": totals.sent,
        "acknowledged": totals.acknowledged, "refused": totals.refused, "received": totals.came,
        "not_sent": totals.unsent, "seconds": round(totals.seconds, 6),
        "captured_seconds": round(totals.captured_s, 6), "left_out": dict(totals.left_out),
        "differences": totals.differences, "complete": totals.complete,
    }  # fmt: skip

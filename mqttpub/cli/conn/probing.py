"""`conn --probe`: the limits of a broker as they were declared and as they were seen."""

import sys
from typing import Any

from ...common.escape import escape
from ...live.failures import Exit
from ...live.probe.probes import probe
from ...live.probe.result import Agreement, ProbeResult
from ...live.probe.trial import Prober
from ...live.tap import Observer, buffering
from ...view.terminal.cells import Line, wrap
from ...view.terminal.style import show
from ...view.terminal.width import screen_width
from ..notes import print_json
from .request import ConnectionRequest

LABEL_CELLS, DECLARED_CELLS = 30, 19
HEADING: Line = [("limit".ljust(LABEL_CELLS) + "declared".ljust(DECLARED_CELLS) + "seen", "dim")]
COLUMNS = 2
"""Columns before the one that may be long."""
NARROWEST_CELLS = 20
NEVER = 0xFFFF_FFFF
STYLES = {Agreement.ALLOWS_LESS: "error", Agreement.TOLERATES_MORE: "warning"}


def report_probe(request: ConnectionRequest, observer: Observer | None) -> Exit:
    """Try the limits of the broker, show each as soon as it is known, and return the exit status.

    It is FINDINGS where the broker allows less than it declares, or than the specification demands.
    """
    prober = Prober(
        request.target, timeout_s=request.timeout_s, most_bytes=request.probe_bytes, prefix=request.probe_topic,
        observer=observer,
    )  # fmt: skip
    if not request.shown.json:
        show([HEADING], sys.stdout)
    worst = Exit.DONE
    for result in probe(prober):
        if result.agreement is Agreement.ALLOWS_LESS:
            worst = Exit.FINDINGS
        if gathering := buffering(observer):
            gathering.flush()
        if request.shown.json:
            print_json(probe_record(result))
        else:
            show(
                folded(probe_line(result), screen_width()) if sys.stdout.isatty() else [probe_line(result)], sys.stdout
            )
        sys.stdout.flush()
    return worst


def probe_line(result: ProbeResult) -> Line:
    """Return the line of one limit."""
    declared = "" if result.declared is None else _text(result.declared, result)
    least = "at least " if result.at_least and _is_number(result.seen) else ""
    line: Line = [
        (result.label.ljust(LABEL_CELLS), "label"), (declared.ljust(DECLARED_CELLS), "dim"),
        (f"{least}{_text(result.seen, result)}", "number"),
    ]  # fmt: skip
    if style := STYLES.get(result.agreement):
        line.append((f"  {result.agreement}", style))
    if result.said:
        more = "more: " if _is_number(result.seen) else ""
        line.append((f"  ({more}{escape(result.said)})", "dim"))
    return line


def folded(line: Line, width: int) -> list[Line]:
    """Return the line of a limit as lines of at most `width` cells, whose last column is broken at words."""
    indent = LABEL_CELLS + DECLARED_CELLS
    first, *others = wrap(line[COLUMNS:], max(width - indent, NARROWEST_CELLS))
    return [[*line[:COLUMNS], *first], *([(" " * indent, ""), *row] for row in others)]


def probe_record(result: ProbeResult) -> dict[str, Any]:
    """Return the JSON record of one limit."""
    record = {
        "event": "probe", "limit": result.key, "declared": result.declared, "seen": result.seen,
        "at_least": result.at_least if _is_number(result.seen) else None, "agreement": str(result.agreement),
        "said": result.said or None,
    }  # fmt: skip
    return {key: value for key, value in record.items() if value is not None or key in ("declared", "seen")}


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: Any, result: ProbeResult) -> str:
    if value is None:
        return "unknown" if result.key == "session_kept" else "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if result.key == "session_expiry_interval" and value == NEVER:
        return "never expires"
    return f"{value:,} {result.unit}" if result.unit else f"{value:,}"

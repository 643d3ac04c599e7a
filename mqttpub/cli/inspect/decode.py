"""What `decode` does: text to packets, packets to the screen."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import click

from ...capture.text.parse import BadText
from ...codec import decode as codec
from ...codec.tree import Decoded
from ...common.files import check_standard_output
from ...common.standard_input import is_interactive
from ...lint.packet.check import lint
from ...reading.input import AnyInput, open_inputs
from ...reading.text import text_events
from ...reading.version import CANDIDATES, guessed_remark
from ...spec.versions import Version
from ...traffic.events import PacketSeen
from ...view.terminal.show import Show
from ..flags.types import DIRECTIONS
from ..notes import note
from ..screen import show_through_pager

OF_CAPTURES = (
    "summary", "flows", "stats", "ladder", "svg", "mermaid", "html", "pdml", "tshark_json", "filter", "follow",
    "keylog", "port", "max_connections", "absolute_time",
)  # fmt: skip
"""Parameters that only the views of a whole conversation know."""


def decode(given: dict[str, Any]) -> int:
    """Show the inputs and return the exit status; raises UsageError."""
    with ExitStack() as stack:
        named = list(inputs(given, stack, "decode"))
        check_standard_output(each.id for each in named)
        if given["parquet"] is not None or given["arrow"] is not None:
            from .table import table

            return table(given, named, stack)
        show_through_pager(given, stack)
        if any(given[name] for name in OF_CAPTURES) or any(each.is_capture for each in named):
            from .output import Viewing

            return Viewing(given, named, stack).run()
        return Decoding(given).run(named)


def inputs(given: dict[str, Any], stack: ExitStack, verb: str) -> Iterator[AnyInput]:
    """Yield what `-f` and the arguments name, standard input if nothing; raises UsageError and UserError."""
    from ...payload.bytes_argument import octets

    if not given["file"] and not given["text"] and is_interactive():
        raise click.UsageError(f"nothing to {verb}: give hex, a file, or standard input")
    return open_inputs(given["file"], given["text"], stack, octets)


class Decoding:
    """One run over texts, every packet byte for byte."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.show = Show(secrets=given["show_secrets"], full=given["full"])
        self.errors = False
        self.both = False
        """Whether a packet was shown in two versions."""
        self.guessed: set[Version] = set()
        """Versions in which packets were shown that another version reads otherwise."""

    def run(self, inputs: Iterable[AnyInput]) -> int:
        """Show every packet of the inputs and return the exit status."""
        for source in inputs:
            try:
                for event, alone in _alone(self._events(source)):
                    self._packet(event, alone)
            except BadText as error:
                sys.stdout.flush()
                place = f"line {error.line}, column {error.column}"
                raise click.UsageError(f"{source.name}: {place}: {error.message}") from None
            for remark in source.remarks():
                note(f"{source.name}: {remark}")
        if not self.given["as_json"]:
            self._remark()
        return 1 if self.errors else 0

    def _events(self, source: AnyInput) -> Iterator[PacketSeen]:
        """Yield the packets of an input in the version of their connection; what is cut short is one, too."""
        given = self.given
        direction = DIRECTIONS.get(given["direction"])
        found = text_events(source.pieces(given["form"]), given["mqtt_version"], direction, cut=True)
        return (event for event in found if isinstance(event, PacketSeen))

    # output

    def _packet(self, event: PacketSeen, alone: bool) -> None:
        readings = self._readings(event)
        for reading in readings:
            reading.findings = lint(reading, event.direction)
        if event.guessed and readings[1:]:
            self.both = self.both or alone
            self.guessed |= set() if alone else {event.version}
        shown = readings if alone else readings[:1]
        self.errors = self.errors or all(_has_error(reading) for reading in shown)
        if self.given["as_json"]:
            self._records(shown, known=not event.guessed or (alone and not readings[1:]))
        elif shown[1:]:
            self._both(shown)
        else:
            self.show.packet(shown[0], time=self._place(event))

    def _readings(self, event: PacketSeen) -> list[Decoded]:
        """Return the packet in its version, and in the others that it may have if that makes a difference."""
        others = sorted(CANDIDATES - {event.version}, reverse=True) if event.guessed else []
        first, *more = (
            codec.decode(event.data, version, direction=event.direction, offset=event.offset)
            for version in (event.version, *others)
        )
        return [first, *(each for each in more if not _same(first, each))]

    def _remark(self) -> None:
        if self.both:
            self.show.remark("no CONNECT tells the version, so both readings are shown; --mqtt-version chooses one")
        for version in sorted(self.guessed):
            self.show.remark(guessed_remark(version))

    def _place(self, event: PacketSeen) -> str:
        return f"at offset {event.offset}" if event.offset else ""

    def _both(self, readings: list[Decoded]) -> None:
        from ...view.terminal.side_by_side import side_by_side

        side_by_side(self.show, readings)

    def _records(self, readings: list[Decoded], *, known: bool) -> None:
        from ...view.packet.record_json import dumps, record

        for reading in readings:
            entry = record(reading, secrets=self.show.secrets)
            if not known:
                entry["version_known"] = False
            click.echo(dumps(entry))


def _alone(events: Iterable[PacketSeen]) -> Iterator[tuple[PacketSeen, bool]]:
    """Yield packets, and whether nothing else of their connection is there."""
    before, several = None, False
    for event in events:
        same = before is not None and before.ends.number == event.ends.number
        if before is not None:
            yield before, not (same or several)
        before, several = event, same
    if before is not None:
        yield before, not several


def _same(first: Decoded, second: Decoded) -> bool:
    def shape(decoded: Decoded) -> list[tuple[Any, ...]]:
        return [(path, node.span, node.mask, node.value) for path, node in decoded.root.walk() if not node.children]

    return shape(first) == shape(second) and bool(lint(first)) == bool(lint(second))


def _has_error(decoded: Decoded) -> bool:
    return any(finding.severity == "error" for finding in decoded.findings)

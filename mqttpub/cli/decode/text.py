"""Packets of text, byte for byte."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from ..notes import note
from .request import DecodeRequest

if TYPE_CHECKING:
    from ...codec.tree import Decoded
    from ...reading.input import AnyInput
    from ...spec.versions import Version
    from ...traffic.events import PacketSeen


class TextDump:
    """Shows the packets of texts byte for byte; a lone packet of unknown version in both versions."""

    def __init__(self, request: DecodeRequest) -> None:
        from ...view.packet.show import Show

        self.request = request
        self.show = Show(secrets=request.secrets, full=request.full, payloads=request.payloads)
        self.errors = False
        self.both = False
        """Whether a packet was shown in two versions."""
        self.only_in: set[Version] = set()
        """Versions in which a packet has an error that was also shown in a version without one."""
        self.guessed: set[Version] = set()
        """Guessed versions in which packets were shown that read differently in another version."""

    def run(self, inputs: "Iterable[AnyInput]") -> int:
        """Show every packet of the inputs and return the exit status; raises UsageError for bad text."""
        from ...capture.text.parse import BadText

        for source in inputs:
            try:
                for event, alone in _alone(self._packets(source)):
                    self._packet(event, alone)
            except BadText as error:
                sys.stdout.flush()
                place = f"line {error.line}, column {error.column}"
                raise click.UsageError(f"{source.name}: {place}: {error.message}") from None
            for remark in source.remarks():
                note(f"{source.name}: {remark}")
        if not self.request.json:
            self._remark()
        return 1 if self.errors else 0

    def _packets(self, source: "AnyInput") -> "Iterator[PacketSeen]":
        """Yield the packets of an input, a truncated one too, in the version of their connection."""
        from ...reading.text import text_events
        from ...traffic.events import PacketSeen

        options = self.request.input.options
        found = text_events(source.pieces(options.form), options.version, options.direction, cut=True)
        return (event for event in found if isinstance(event, PacketSeen))

    def _packet(self, event: "PacketSeen", alone: bool) -> None:
        from ...lint.packet.check import lint

        readings = self._readings(event)
        for reading in readings:
            reading.findings = lint(reading, event.direction)
        if event.guessed and readings[1:]:
            self.both = self.both or alone
            self.guessed |= set() if alone else {event.version}
        shown = readings if alone else readings[:1]
        in_error = {reading.version for reading in shown if _has_error(reading)}
        # A packet that is right in one version is right: nothing says that it was sent in the other.
        self.errors = self.errors or len(in_error) == len(shown)
        if in_error and len(in_error) < len(shown):
            self.only_in |= in_error
        if self.request.json:
            self._records(shown, known=not event.guessed or (alone and not readings[1:]))
        elif shown[1:]:
            from ...view.packet.side_by_side import side_by_side

            side_by_side(self.show, shown)
        else:
            self.show.packet(shown[0], time=f"at offset {event.offset}" if event.offset else "")

    def _readings(self, event: "PacketSeen") -> "list[Decoded]":
        """Return the packet in its version, then in each other candidate version in which it reads differently."""
        from ...codec.decode import decode
        from ...reading.version import CANDIDATES

        others = sorted(CANDIDATES - {event.version}, reverse=True) if event.guessed else []
        first, *more = (
            decode(event.data, version, direction=event.direction, offset=event.offset)
            for version in (event.version, *others)
        )
        return [first, *(each for each in more if not _same(first, each))]

    def _remark(self) -> None:
        from ...reading.version import guessed_remark

        if self.both:
            labels = " or ".join(version.label for version in sorted(self.only_in))
            disagree = f", with an error only as MQTT {labels}" if labels else ""
            self.show.remark(
                f"no CONNECT gives the version: both readings are shown{disagree}; use --mqtt-version to choose one"
            )
        for version in sorted(self.guessed):
            self.show.remark(guessed_remark(version))

    def _records(self, readings: "list[Decoded]", *, known: bool) -> None:
        from ...view.packet.record_json import packet_record

        more = "" if known else ',"version_known":false'
        for reading in readings:
            click.echo(packet_record(reading, secrets=self.request.secrets, payloads=self.request.payloads, more=more))


def _alone(events: "Iterable[PacketSeen]") -> "Iterator[tuple[PacketSeen, bool]]":
    """Yield each packet, and whether it is the only one of its connection."""
    before, several = None, False
    for event in events:
        same = before is not None and before.ends.number == event.ends.number
        if before is not None:
            yield before, not (same or several)
        before, several = event, same
    if before is not None:
        yield before, not several


def _same(first: "Decoded", second: "Decoded") -> bool:
    """Whether two readings have the same fields and agree on whether anything is wrong."""
    from ...lint.packet.check import lint

    def fields(decoded: "Decoded") -> list[tuple[Any, ...]]:
        return [(path, node.span, node.mask, node.value) for path, node in decoded.root.walk() if not node.children]

    return fields(first) == fields(second) and bool(lint(first)) == bool(lint(second))


def _has_error(decoded: "Decoded") -> bool:
    return any(finding.severity == "error" for finding in decoded.findings)

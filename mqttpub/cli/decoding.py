"""What `decode` does: text to packets, packets to the screen."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import click

from ..capture.text import BadText, Piece, read_bytes, read_text
from ..codec import decode as codec
from ..codec.nodes import Decoded
from ..codec.stream import Frame, LostSync, Stream
from ..lint.packet import lint
from ..spec.terms import Direction, Version
from .captures import Input, Words, listed
from .replacing import check_standard_output
from .screen import show_through_pager
from .showing import Show
from .standard_input import is_interactive
from .value_types import DIRECTIONS

CANDIDATES = (Version.V5, Version.V311)
"""How a packet is read when nothing tells its version."""
OF_CAPTURES = (
    "summary", "flows", "stats", "ladder", "svg", "mermaid", "html", "pdml", "tshark_json", "filter", "follow",
    "keylog", "port", "absolute_time",
)  # fmt: skip
"""Parameters that only the views of a whole conversation know."""
SUFFIXES = frozenset((".bin", ".cap", ".gz", ".hex", ".json", ".jsonl", ".log", ".pcap", ".pcapng", ".txt", ".zst"))
"""What the names of files end with, and what no writing of bytes ends with."""
MARKS = {">": Direction.CLIENT, "<": Direction.SERVER}


def decode(given: dict[str, Any]) -> int:
    """Show the inputs and return the exit status; raises UsageError."""
    with ExitStack() as stack:
        named = list(inputs(given, stack, "decode"))
        check_standard_output(each.id for each in named)
        if given["parquet"] is not None or given["arrow"] is not None:
            from .tabling import table

            return table(given, named, stack)
        show_through_pager(given, stack)
        if any(given[name] for name in OF_CAPTURES) or any(each.is_capture for each in named):
            from .viewing import Viewing

            return Viewing(given, named, stack).run()
        return Decoding(given).run(named)


def inputs(given: dict[str, Any], stack: ExitStack, verb: str) -> Iterator[Input | Words]:
    """Yield what `-f` and the arguments name, standard input for nothing; raises UsageError."""
    for path in given["file"]:
        yield Input(path, stack)
    words = given["text"]
    if words and (files := listed(words)):
        for path in files:
            yield Input(path, stack)
    elif missing := _missing(words):
        raise click.UsageError(f"cannot read '{missing}': No such file or directory")
    elif words:
        yield Words(lambda form: _argument(words, form))
    elif not given["file"]:
        if is_interactive():
            raise click.UsageError(f"nothing to {verb}: give hex, a file, or standard input")
        yield Input("-", stack)


def _missing(words: tuple[str, ...]) -> str:
    """Return the first word that can only name a file, and names none; empty when there is no such word."""
    if len(words) == 1 and words[0].startswith(("/", "./", "../")):
        return words[0]
    names = (word for word in words if os.path.splitext(word)[1].lower() in SUFFIXES)
    return next((name for name in names if not os.path.exists(name)), "")


def _argument(words: tuple[str, ...], form: str) -> Iterator[Piece]:
    if len(words) == 1 and words[0].startswith(("hex:", "base64:", "@")):
        return read_bytes(_octets(words[0]), "raw")
    text = " ".join(words)
    return read_text(text) if form == "auto" else read_bytes(text.encode("utf-8", "surrogateescape"), form)


class Decoding:
    """One run over texts, every packet byte for byte."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.version: Version | None = given["mqtt_version"]
        self.direction = DIRECTIONS.get(given["direction"])
        self.show = Show(secrets=given["show_secrets"], full=given["full"])
        self.errors = False
        self.count = 0
        self.guessed = False

    def run(self, inputs: Iterable[Input | Words]) -> int:
        """Show every packet of the inputs and return the exit status."""
        for source in inputs:
            try:
                for piece in source.pieces(self.given["form"]):
                    for frame in self._frames(piece):
                        self._frame(frame)
            except BadText as error:
                sys.stdout.flush()
                place = f"line {error.line}, column {error.column}"
                raise click.UsageError(f"{source.name}: {place}: {error.message}") from None
        if self.guessed and not self.given["as_json"]:
            self.show.remark("no CONNECT tells the version, so both readings are shown; --mqtt-version chooses one")
        return 1 if self.errors else 0

    def _frames(self, piece: Piece) -> Iterator[Frame]:
        """Cut a piece into packets; what is left at its end comes as a packet that is cut short."""
        direction = MARKS.get(piece.mark) or self.direction
        stream = Stream(direction, self.version)
        try:
            yield from stream.feed(piece.data)
            rest = stream.pending
        except LostSync as lost:
            rest = piece.data[lost.offset :]
        if rest:
            yield Frame(rest, stream.offset, direction, stream.version)

    # output

    def _frame(self, frame: Frame) -> None:
        self.version = frame.version or self.version
        self.count += 1
        readings = self._readings(frame)
        for reading in readings:
            reading.findings = lint(reading, frame.direction)
        self.errors = self.errors or all(_has_error(reading) for reading in readings)
        if self.given["as_json"]:
            self._records(readings)
        elif readings[1:]:
            self.guessed = True
            self._both(readings)
        else:
            self.show.packet(readings[0], time=self._place(frame))

    def _readings(self, frame: Frame) -> list[Decoded]:
        versions = (frame.version,) if frame.version else CANDIDATES
        readings = [
            codec.decode(frame.data, version, direction=frame.direction, offset=frame.offset) for version in versions
        ]
        return readings[:1] if len(readings) > 1 and _same(*readings) else readings

    def _place(self, frame: Frame) -> str:
        return f"at offset {frame.offset}" if frame.offset else ""

    def _both(self, readings: list[Decoded]) -> None:
        from .columns import side_by_side

        side_by_side(self.show, readings)

    def _records(self, readings: list[Decoded]) -> None:
        from ..view.record import dumps, record

        for reading in readings:
            entry = record(reading, secrets=self.show.secrets)
            if readings[1:]:
                entry["version_known"] = False
            click.echo(dumps(entry))


def _same(first: Decoded, second: Decoded) -> bool:
    def shape(decoded: Decoded) -> list[tuple[Any, ...]]:
        return [(path, node.span, node.mask, node.value) for path, node in decoded.root.walk() if not node.children]

    return shape(first) == shape(second) and bool(lint(first)) == bool(lint(second))


def _has_error(decoded: Decoded) -> bool:
    return any(finding.severity == "error" for finding in decoded.findings)


def _octets(text: str) -> bytes:
    from .octets import octets

    try:
        return octets(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from None

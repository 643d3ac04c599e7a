"""From what the user named (captures, transcripts, text) to the events that they hold."""

import io
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click

from ...capture.containers.registry import is_capture
from ...capture.network.tcp import MAX_FLOWS
from ...capture.protocol.tls import NoKeys
from ...capture.reading import Reading
from ...capture.text.log_lines import Log
from ...capture.text.parse import BadText, Piece, read_file
from ...capture.types import BadCapture
from ...common.files import file_id
from ...spec.versions import Direction, Version
from ...traffic.events import Event
from ..standard_input import standard_input

LOOK = 65536
"""Bytes of a file that are looked at to tell what it is."""
ENOUGH = 12
"""Bytes that tell a capture from a text."""


class Choice(NamedTuple):
    """How inputs are read."""

    form: str = "auto"
    version: Version | None = None
    direction: Direction | None = None
    ports: tuple[int, ...] = ()
    keylog: Path | None = None
    connections: int = MAX_FLOWS
    """TCP connections that are remembered at once."""


class Input:
    """One file, or standard input; `name` is what messages call it."""

    def __init__(self, path: str, stack: ExitStack) -> None:
        self.name = "standard input" if path == "-" else path
        self._reading: Reading | None = None
        self.log = Log()
        try:
            file: BinaryIO = standard_input() if path == "-" else stack.enter_context(open(path, "rb"))  # noqa: SIM115
            self.size = os.fstat(file.fileno()).st_size if path != "-" else 0
            self._opened = file
            self.id = file_id(file)
            self.file, self.first = _looked(file)
        except OSError as error:
            raise click.UsageError(f"cannot read '{path}': {error.strerror}") from None

    @property
    def is_capture(self) -> bool:
        """Whether it is a pcap or pcapng, compressed or not."""
        return is_capture(self.first)

    @property
    def position(self) -> int:
        """Bytes that were read of it."""
        if self._reading:
            return self._reading.position
        return self._opened.tell() if self.size else 0

    def pieces(self, form: str) -> Iterator[Piece]:
        """Yield the bytes that a text holds; raises BadText."""
        return read_file(self.file, form, self.log)

    def events(self, choice: Choice) -> Iterator[Event]:
        """Yield what the input holds; raises BadCapture, BadText and NoKeys, after all that was good."""
        if self.is_capture:
            self._reading = Reading(
                self.file, ports=choice.ports, version=choice.version, keylog=choice.keylog,
                max_connections=choice.connections,
            )  # fmt: skip
            return self._reading.events()
        if choice.form == "auto" and self._is_transcript():
            from ...capture.text.transcript import events, lines
            from ...reading.version import settle

            return settle(events(lines(self.file)))
        return text_events(self.pieces(choice.form), choice)

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was not read."""
        yield from self.log.remarks()
        if not self._reading:
            return
        yield from self._reading.problems
        yield from filter(None, (self._reading.skipped.sentence,))
        for reason, count in self._reading.reassembler.skipped.most_common():
            yield f"{count:,} {'record is' if count == 1 else 'records are'} {reason}"

    def _is_transcript(self) -> bool:
        from ...capture.text.transcript import is_transcript

        return is_transcript(self.first)


def _looked(file: BinaryIO) -> tuple[BinaryIO, bytes]:
    """Return a file and its first bytes, which can still be read from it; a pipe may give them one by one."""
    first = file.peek(LOOK)  # type: ignore[attr-defined]
    if len(first) >= ENOUGH or not first:
        return file, first
    first = file.read(ENOUGH)
    return io.BufferedReader(_Begun(first, file)), first


class _Begun(io.RawIOBase):
    """A file of which the first bytes were read already."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = first
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._first:
            self._first = self._rest.read1(len(buffer))  # type: ignore[attr-defined]
        size = min(len(buffer), len(self._first))
        buffer[:size], self._first = self._first[:size], self._first[size:]
        return size


class Words:
    """Bytes given as arguments."""

    name = "argument"
    size = position = 0
    id = None
    is_capture = False

    def __init__(self, read: Callable[[str, Log], Iterator[Piece]]) -> None:
        self._read = read
        self.log = Log()

    def pieces(self, form: str) -> Iterator[Piece]:
        """Yield the bytes; raises BadText."""
        return self._read(form, self.log)

    def events(self, choice: Choice) -> Iterator[Event]:
        """Yield the packets; raises BadText."""
        return text_events(self.pieces(choice.form), choice)

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was not read."""
        return self.log.remarks()


def text_events(pieces: Iterable[Piece], choice: Choice) -> Iterator[Event]:
    """Yield the packets of bytes that somebody wrote down, those of a connection in one version; raises BadText."""
    from ...capture.text.packets import events
    from ...reading.version import settle

    return settle(events(pieces, version=choice.version, direction=choice.direction))


class Events:
    """The events of several inputs one after another, connections numbered through.

    What cannot be read is kept in `faults`, as sentences, and does not stop what comes after it.
    """

    def __init__(
        self, inputs: "Iterable[Input | Words]", choice: Choice, tick: Callable[[Any], Any] | None = None
    ) -> None:
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self._begun: list[int] = []
        """Of each input that was begun, how many connections there were before it."""
        self._names: list[str] = []
        self._inputs = inputs
        self._choice = choice
        self._tick = tick

    def __iter__(self) -> Iterator[Event]:
        """Read the inputs, once."""
        base = last = 0
        for each in self._inputs:
            self._begun.append(base)
            self._names.append(each.name)
            try:
                for event in self._ticking(each):
                    if base:
                        event = event._replace(ends=event.ends._replace(number=event.ends.number + base))
                    last = max(last, event.ends.number)
                    yield event
            except BadCapture as error:
                self.faults.append(f"{each.name}: offset {error.offset}: {error.message}")
            except BadText as error:
                self.faults.append(f"{each.name}: line {error.line}, column {error.column}: {error.message}")
            except NoKeys as error:
                self.faults.append(f"{each.name}: {error}")
            self.remarks += (f"{each.name}: {remark}" for remark in each.remarks())
            base = last

    def name_of(self, connection: int) -> str:
        """Return the name of the input that a connection is from, as it was given."""
        return self._names[bisect_left(self._begun, connection) - 1]

    def _ticking(self, each: Input | Words) -> Iterator[Event]:
        if self._tick is None:
            return each.events(self._choice)
        return self._ticked(each, self._tick)

    def _ticked(self, each: Input | Words, tick: Callable[[Any], Any]) -> Iterator[Event]:
        for number, event in enumerate(each.events(self._choice)):
            if not number & 0xFFF:
                tick(each)
            yield event


def listed(words: Iterable[str]) -> list[str]:
    """Return the words if each of them names a file that is there, or standard input; else nothing."""
    names = list(words)
    return names if all(name == "-" or os.path.exists(name) for name in names) else []


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return what to call inputs where there are several: the last part of the path if that tells them apart."""
    paths = dict.fromkeys(names)
    last = Counter(map(os.path.basename, paths))
    return {path: os.path.basename(path) if last[os.path.basename(path)] == 1 else path for path in paths}

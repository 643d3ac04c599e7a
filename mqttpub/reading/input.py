"""The files, standard input and arguments that a user names, and the events that they hold."""

import io
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..capture.text.source import BadText, TextPiece
from ..capture.types import BadCapture, NoKeys
from ..common.errors import UserError
from ..common.files import file_id
from ..common.standard_input import STANDARD_INPUT_NAME, standard_input
from ..spec.versions import Direction, Version
from ..traffic.events import Event

if TYPE_CHECKING:
    from pathlib import Path

    from ..capture.logs.account import Log
    from ..capture.reading import CaptureEvents

LOOK = 65536
"""Bytes at the start of a file that are enough to recognize what it is."""
_NAME = re.compile(r"(?=.*[^0-9A-Fa-f])[\w./~-]+")
"""A word that may be meant as the name of a file: mistyped hex is not."""
ENOUGH = 12
"""Bytes that tell a capture from a text."""
_UNDECIDED = re.compile(rb"(?=[#<>\[@!v])(?:[ \t]*(?:#[^\n]*)?\n)*[^\n]*")
"""The beginning of what may be a script, without a whole line that decides it."""
SUFFIXES = frozenset((".bin", ".hex", ".json", ".jsonl", ".log", ".txt"))
"""Endings of file names, besides those of captures, that no notation of bytes ends with."""


class InputOptions(NamedTuple):
    """How inputs are read."""

    form: str = "auto"
    """The notation of bytes in texts: `auto`, `hex`, `base64`, `escaped` or `raw`."""
    version: Version | None = None
    """Of connections without a CONNECT; None to guess it."""
    direction: Direction | None = None
    """The sender of packets in texts without marks."""
    ports: tuple[int, ...] = ()
    """TCP ports of MQTT, besides 1883."""
    keylog: "Path | None" = None
    """The keys to read TLS with."""
    max_connections: int | None = None
    """TCP connections that are remembered at once; None for the usual number."""


class Input:
    """One file, or standard input; `name` is what messages call it."""

    def __init__(self, name: str, file: BinaryIO, size: int) -> None:
        """`file` has the method `peek`; `size` is its length in bytes, 0 if that is unknown. Raises OSError."""
        self.name = name
        self.size = size
        self._reading: CaptureEvents | None = None
        self._log: Log | None = None
        self._opened = file
        self.id = file_id(file)
        self.file, self.first = _with_first_bytes(file)

    @classmethod
    def opened(cls, path: str, stack: ExitStack) -> "Input":
        """Open a file, `-` for standard input; raises UserError. The file is closed with the stack."""
        try:
            if path == "-":
                return cls(STANDARD_INPUT_NAME, standard_input(), 0)
            file = stack.enter_context(open(path, "rb"))  # noqa: SIM115
            return cls(path, file, os.fstat(file.fileno()).st_size)
        except OSError as error:
            raise UserError(f"cannot read '{path}': {error.strerror}") from None

    @property
    def is_capture(self) -> bool:
        """Whether it is a capture, compressed or not."""
        from ..capture.containers.registry import is_capture

        return is_capture(self.first)

    def is_script(self, form: str) -> bool:
        """Whether it is a script, which `form` may ask for."""
        from .text import is_script_text

        return not self.is_capture and is_script_text(self.first, form)

    @property
    def position(self) -> int:
        """The number of bytes read so far."""
        if self._reading:
            return self._reading.position
        return self._opened.tell() if self.size else 0

    def pieces(self, form: str) -> Iterator[TextPiece]:
        """Yield the bytes that a text holds; raises BadText."""
        from ..capture.logs.read import read_file

        return read_file(self.file, form, self._begin_log())

    def events(self, options: InputOptions) -> Iterator[Event]:
        """Yield what the input holds; raises BadCapture, BadText and NoKeys after the events before the damage."""
        if self.is_capture:
            return self._captured(options)
        # Readers of text take 12 ms to import (python -X importtime), which captures do without.
        from .text import file_events

        log = self._begin_log()
        return file_events(self.file, self.first, options.form, options.version, options.direction, log)

    def _begin_log(self) -> "Log":
        from ..capture.logs.account import Log

        self._log = Log()
        return self._log

    def _captured(self, options: InputOptions) -> Iterator[Event]:
        from ..capture.network.tcp import MAX_FLOWS
        from ..capture.reading import CaptureEvents

        self._reading = CaptureEvents(
            self.file, ports=options.ports, version=options.version, keylog=options.keylog,
            max_connections=options.max_connections or MAX_FLOWS,
        )  # fmt: skip
        return self._reading.events()

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was not read."""
        if self._log:
            yield from self._log.remarks()
        if not self._reading:
            return
        yield from self._reading.problems
        yield from skipped_remarks(self._reading.skipped.sentence, self._reading.reassembler.skipped)


def skipped_remarks(connections: str, records: Counter[str]) -> Iterator[str]:
    """Yield sentences about what is not MQTT: one about connections, if any, and one for each reason of records."""
    if connections:
        yield connections
    for reason, count in sorted(records.items(), key=lambda entry: (-entry[1], entry[0])):
        if count:
            yield f"{count:,} {'record is' if count == 1 else 'records are'} {reason}"


def _with_first_bytes(file: BinaryIO) -> tuple[BinaryIO, bytes]:
    """Return a file and its first bytes, which can still be read from it; a pipe may deliver them one by one."""
    first = file.peek(LOOK)  # type: ignore[attr-defined]
    if not first or (len(first) >= ENOUGH and not _UNDECIDED.fullmatch(first)):
        return file, first
    first = file.read(ENOUGH)
    while len(first) < LOOK and _UNDECIDED.fullmatch(first) and (line := file.readline(LOOK)):
        first += line
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


class Argument:
    """Bytes that the user typed as arguments; `read` yields them, in a notation, and fills the log."""

    name = "argument"
    size = position = 0
    id = None
    is_capture = False

    def __init__(self, read: "Callable[[str, Log], Iterator[TextPiece]]") -> None:
        from ..capture.logs.account import Log

        self._read = read
        self.log = Log()

    def is_script(self, form: str) -> bool:
        """Whether it is a script: never, because a script has lines."""
        return False

    def pieces(self, form: str) -> Iterator[TextPiece]:
        """Yield the bytes; raises BadText."""
        return self._read(form, self.log)

    def events(self, options: InputOptions) -> Iterator[Event]:
        """Yield the packets; raises BadText."""
        from .text import text_events

        return text_events(self.pieces(options.form), options.version, options.direction)

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was not read."""
        return self.log.remarks()


AnyInput = Input | Argument


class InputNames:
    """Which input holds a connection, where connections are numbered across all of them."""

    def __init__(self) -> None:
        self._begun: list[int] = []
        """For each input so far, the number of connections before it."""
        self._names: list[str] = []

    def begin(self, name: str, before: int) -> None:
        """Begin with an input, which so many connections come before."""
        self._begun.append(before)
        self._names.append(name)

    def of(self, connection: int) -> str:
        """Return the name of the input that holds a connection, as the user wrote it."""
        return self._names[bisect_left(self._begun, connection) - 1]


class AllEvents:
    """The events of several inputs one after another, with connections numbered across all of them.

    An input that cannot be read adds a sentence to `faults`, and the next input is read. `tick` is called now and
    then with the input that is being read. Inputs need the `name`, `events` and `remarks` of Input. `before` is the
    number of connections in inputs that were read elsewhere before these.
    """

    def __init__(
        self, inputs: Iterable[Any], options: InputOptions, tick: Callable[[Any], Any] | None = None, *, before: int = 0
    ) -> None:  # fmt: skip
        self._before = before
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self.names = InputNames()
        self._inputs = inputs
        self._options = options
        self._tick = tick

    def __iter__(self) -> Iterator[Event]:
        """Read the inputs, once."""
        base = last = self._before
        for each in self._inputs:
            self.names.begin(each.name, base)
            try:
                for event in self._ticking(each):
                    if base:
                        event = event._replace(ends=event.ends._replace(number=event.ends.number + base))
                    number = event.ends.number
                    last = number if number > last else last
                    yield event
            except (BadCapture, BadText, NoKeys) as error:
                self.faults.append(f"{each.name}: {error}")
            self.remarks += (f"{each.name}: {remark}" for remark in each.remarks())
            base = last

    def _ticking(self, each: Any) -> Iterable[Event]:
        events: Iterable[Event] = each.events(self._options)
        return events if self._tick is None else self._ticked(each, events, self._tick)

    def _ticked(self, each: Any, events: Iterable[Event], tick: Callable[[Any], Any]) -> Iterator[Event]:
        for number, event in enumerate(events):
            if not number & 0xFFF:
                tick(each)
            yield event


# what arguments mean


def open_inputs(
    files: Iterable[str], words: Sequence[str], stack: ExitStack, value: Callable[[str], bytes]
) -> Iterator[AnyInput]:
    """Yield the files of `-f`, then those that the words name, or the words as bytes; without any, standard input.

    `value` returns the bytes of a word such as `hex:3000`. Raises UserError for what cannot be read.
    """
    named = False
    for path in files:
        named = True
        yield Input.opened(path, stack)
    if words and (paths := _existing(words)):
        for path in paths:
            yield Input.opened(path, stack)
    elif missing := _missing(words):
        raise UserError(f"cannot read '{missing}': No such file or directory")
    elif words:
        yield Argument(partial(_argument, words, value))
    elif not named:
        yield Input.opened("-", stack)


def _existing(words: Iterable[str]) -> list[str]:
    """Return the words if each of them names a file that exists, or standard input; else nothing."""
    names = list(words)
    return names if all(name == "-" or os.path.exists(name) for name in names) else []


def _missing(words: Sequence[str]) -> str:
    """Return the first word that can only be a file name and names no existing file; empty when there is none."""
    if len(words) == 1 and words[0].startswith(("/", "./", "../")):
        return words[0]
    if len(words) == 1 and words[0].startswith("@"):
        return ""
    names = (word for word in words if _is_of_file(os.path.splitext(word)[1].lower()))
    return next((name for name in names if not os.path.exists(name)), "")


def _is_of_file(suffix: str) -> bool:
    if not suffix or suffix in SUFFIXES:
        return bool(suffix)
    # Imported only here, so that bytes on the command line load no capture reader.
    from ..capture.containers.registry import suffixes

    return suffix in suffixes()


def _argument(words: Sequence[str], value: Callable[[str], bytes], form: str, log: "Log") -> Iterator[TextPiece]:
    from ..capture.logs.read import read_bytes
    from ..capture.text.parse import read_bytes as read_notation

    if len(words) == 1 and words[0].startswith("@"):
        return _bytes_of(words[0][1:])
    if len(words) == 1 and words[0].startswith(("hex:", "base64:")):
        try:
            return read_notation(value(words[0]), "raw")
        except BadText:
            raise
        except ValueError as error:
            raise UserError(str(error)) from None
    if form == "auto":
        return _bytes_or_file(words, log)
    return read_bytes(" ".join(words).encode("utf-8", "surrogateescape"), form, log)


def _bytes_or_file(words: Sequence[str], log: "Log") -> Iterator[TextPiece]:
    """Yield the bytes that words hold; the error for a word that may have been meant as a file says so."""
    from ..capture.logs.read import read_text

    try:
        yield from read_text(" ".join(words), "auto", log)
    except BadText as error:
        ends = accumulate(len(word) + 1 for word in words)
        word = next(word for word, end in zip(words, ends, strict=True) if error.column <= end)
        if error.line > 1 or not _NAME.fullmatch(word):
            raise
        raise BadText(f"{error.message}, and there is no file '{word}'", error.line, error.column) from None


def _bytes_of(path: str) -> Iterator[TextPiece]:
    from ..capture.text.parse import read_raw
    from ..capture.text.rows import blocks

    try:
        with open(path, "rb") as file:
            yield from read_raw(blocks(file))
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from None


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return a short name for each of several inputs: the last part of the path if it is unique, else the path."""
    paths = dict.fromkeys(names)
    last = Counter(map(os.path.basename, paths))
    return {path: os.path.basename(path) if last[os.path.basename(path)] == 1 else path for path in paths}

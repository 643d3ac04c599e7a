"""gzip (RFC 1952) and Zstandard (RFC 8878), piece by piece, with the place where they break."""

import importlib
import re
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ..types import BadCapture

SUFFIXES = (".gz", ".zst")
"""Endings of the names of compressed files."""
GIVEN = 1 << 16
"""Compressed bytes that are read at a time."""
GIVEN_UNBOUNDED = 1 << 8
"""The same for a library that returns all at once what they become, 8 MiB at the worst."""
_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"
"""Behind a byte 0x50 to 0x5f: a Zstandard frame for others, which is passed over."""


_STARTS = {"gzip": re.compile(rb"(?s)\x1f\x8b\x08[\0-\x1f]"), "zstd": re.compile(re.escape(_ZSTD))}
"""What a member or a frame begins with."""
_LONGEST_START = 3
"""Bytes of such a beginning that may stand at the end of a piece."""


def form(first: bytes) -> str:
    """Return how a file that begins so is compressed, `gzip` or `zstd`; empty when it is not."""
    if first.startswith(_GZIP):
        return "gzip"
    skippable = first[1:4] == _SKIPPABLE and first[0] >> 4 == 5
    return "zstd" if skippable or first.startswith(_ZSTD) else ""


class Engine(Protocol):
    """What reads one member of gzip or one frame of Zstandard."""

    given: int
    """How many bytes to give at a time."""
    errors: tuple[type[Exception], ...]
    needs_input: bool
    """Whether nothing more comes of what was given."""
    eof: bool
    unused_data: bytes
    """What was given behind the end."""

    def decompress(self, data: bytes, most: int, /) -> bytes:
        """Take bytes and return at most so many of those that they become."""
        ...


class Decompressed:
    """What a compressed file holds.

    `read` gives what `source` gives, uncompressed: at most `size` bytes or, with one of the
    libraries, what 256 compressed ones become; none at the end. Raises BadCapture, with a
    place in the uncompressed bytes, when all before it has been returned; damaged Zstandard
    takes up to `size` bytes in front of the place with it, as its libraries do not give them.
    """

    def __init__(self, form: str, source: Callable[[int], bytes]) -> None:
        self.form = form
        self._source = source
        self._open: Callable[[], Engine] = _Gzip if form == "gzip" else _zstd()
        self._engine: Engine | None = self._open()
        self._given = b""
        self._made = 0
        self._last = b""
        """What the engine was given last, and in front of which it found nothing wrong."""

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        while self._engine:
            if self._engine.eof:
                self._engine = self._following(self._engine.unused_data)
            elif piece := self._step(self._engine, size):
                self._made += len(piece)
                return piece
        return b""

    def resume(self) -> bool:
        """Move on from where the data are damaged to the next member or frame; False when there is none."""
        rest = self._last
        while True:
            if found := _STARTS[self.form].search(rest):
                self._given, self._engine = rest[found.start() :], self._open()
                return True
            try:
                more = self._source(GIVEN)
            except BadCapture:
                more = b""
            if not more:
                self._engine = None
                return False
            rest = rest[-_LONGEST_START:] + more

    def _step(self, engine: "Engine", size: int) -> bytes:
        if engine.needs_input and not self._given:
            self._given = self._source(engine.given)
            if not self._given:
                raise self._bad("end too early")
        given, self._given = self._given, b""
        # Where a member begins, the first byte is passed over: it is not found again.
        self._last = given[1:] or self._last
        try:
            return engine.decompress(given, size)
        except engine.errors as error:
            self._last = engine.unused_data[1:] or self._last
            raise self._bad(f"are damaged ({error})") from None

    def _following(self, rest: bytes) -> "Engine | None":
        """Return what reads the next member or frame, if there is one; zeros may fill up a file behind the last."""
        rest = rest or self._source(GIVEN_UNBOUNDED)
        while rest and not rest.strip(b"\0"):
            rest = self._source(GIVEN_UNBOUNDED)
        while 0 < len(rest) < len(_ZSTD) and (more := self._source(GIVEN_UNBOUNDED)):
            rest += more
        if not rest:
            return None
        if form(rest) != self.form:
            cut = _GZIP.startswith(rest) or _ZSTD.startswith(rest)
            self._last = rest
            raise self._bad("end too early" if cut else "are followed by something else")
        self._given = rest
        return self._open()

    def _bad(self, what: str) -> BadCapture:
        return BadCapture(f"the {self.form} data {what}", self._made)


class _Gzip:
    given = GIVEN
    errors: tuple[type[Exception], ...] = (zlib.error,)

    def __init__(self) -> None:
        self._engine = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._rest = b""
        self._step = GIVEN
        self.needs_input = True
        self.eof = False
        self.unused_data = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        """Take bytes; an error comes when everything in front of it was returned."""
        data = self._rest + data
        # What is left if there is an error.
        self.unused_data = data
        piece = self._careful(data, most)
        behind = data[self._step :]
        self._rest = self._engine.unconsumed_tail + behind
        self.needs_input = not self._rest and len(piece) < most
        self.eof = self._engine.eof
        self.unused_data = self._engine.unused_data + behind
        return piece

    def _careful(self, data: bytes, most: int) -> bytes:
        """Halve the step at each error, because an error takes away what the same step had made."""
        while True:
            before = self._engine.copy()
            try:
                return self._engine.decompress(data[: self._step], most)
            except zlib.error:
                if self._step == 1:
                    raise
                self._engine, self._step = before, self._step // 2


class _Zstandard:
    """The library zstandard, whose object has no bound for what it returns."""

    given = GIVEN_UNBOUNDED
    needs_input = True

    def __init__(self, library: Any) -> None:
        self._engine = library.ZstdDecompressor().decompressobj()
        self.errors: tuple[type[Exception], ...] = (library.ZstdError,)
        self.eof = False
        self.unused_data = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        piece: bytes = self._engine.decompress(data)
        self.eof, self.unused_data = self._engine.eof, self._engine.unused_data
        return piece


class _Zstd:
    """Python's own module."""

    given = GIVEN

    def __init__(self, library: Any) -> None:
        self._engine = library.ZstdDecompressor()
        self.errors: tuple[type[Exception], ...] = (library.ZstdError,)
        self.needs_input = True
        self.eof = False
        self.unused_data = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        piece: bytes = self._engine.decompress(data, most)
        self.needs_input, self.eof = self._engine.needs_input, self._engine.eof
        self.unused_data = self._engine.unused_data
        return piece


ZSTD_LIBRARIES: dict[str, Callable[[Any], Engine]] = {
    "compression.zstd": _Zstd,
    "backports.zstd": _Zstd,
    "zstandard": _Zstandard,
}
"""Python's own module since 3.14, the same module for older ones, and a library that many have."""


def _zstd() -> Callable[[], Engine]:
    """Return what makes an engine; raises BadCapture when no library is there."""
    for name, engine in ZSTD_LIBRARIES.items():
        try:
            return partial(engine, importlib.import_module(name))
        except ModuleNotFoundError:
            continue
    raise BadCapture("zstd needs Python 3.14 or a library: pip install 'mqttpub[captures]'")

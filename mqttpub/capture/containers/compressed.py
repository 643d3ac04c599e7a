"""gzip (RFC 1952) and Zstandard (RFC 8878), decompressed piece by piece, with the offset of damage."""

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
"""The same for a library that returns all decompressed bytes at once, at worst 8 MiB."""
_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"
"""After a byte 0x50 to 0x5f: a skippable Zstandard frame."""


_STARTS = {"gzip": re.compile(rb"(?s)\x1f\x8b\x08[\0-\x1f]"), "zstd": re.compile(re.escape(_ZSTD))}
"""How a gzip member or a Zstandard frame begins."""
_LONGEST_START = 3
"""Bytes of such a beginning that may be at the end of a piece."""


def form(first: bytes) -> str:
    """Return the compression of a file that begins with these bytes, `gzip` or `zstd`; empty if it has none."""
    if first.startswith(_GZIP):
        return "gzip"
    skippable = first[1:4] == _SKIPPABLE and first[0] >> 4 == 5
    return "zstd" if skippable or first.startswith(_ZSTD) else ""


class Engine(Protocol):
    """Decompresses one gzip member or one Zstandard frame."""

    given: int
    """Compressed bytes that one call should get."""
    errors: tuple[type[Exception], ...]
    needs_input: bool
    """Whether all bytes so far are decompressed."""
    eof: bool
    unused_data: bytes
    """Compressed bytes after the end of the member or frame."""

    def decompress(self, data: bytes, most: int, /) -> bytes:
        """Return at most `most` decompressed bytes of these and earlier compressed ones."""
        ...


class Decompressed:
    """Decompresses the bytes that `source` returns.

    `read` returns at most `size` bytes, or with one of the libraries the content of 256 compressed ones; none at the
    end. It raises BadCapture, with an offset in the decompressed bytes, once all bytes before the damage are
    returned; in Zstandard up to `size` bytes before the damage are lost too, because its libraries keep them.
    """

    def __init__(self, form: str, source: Callable[[int], bytes]) -> None:
        self.form = form
        self._source = source
        self._open: Callable[[], Engine] = _Gzip if form == "gzip" else _zstd()
        self._engine: Engine | None = self._open()
        self._given = b""
        self._made = 0
        self._last = b""
        """The compressed bytes of the last call, before which nothing is damaged."""

    def read(self, size: int) -> bytes:
        """Return the next decompressed bytes."""
        while self._engine:
            if self._engine.eof:
                self._engine = self._following(self._engine.unused_data)
            elif piece := self._step(self._engine, size):
                self._made += len(piece)
                return piece
        return b""

    def resume(self) -> bool:
        """Skip damage up to the next member or frame; False if there is none."""
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
                raise self._bad("end too early", cut=True)
        given, self._given = self._given, b""
        # The first byte of a member is left out, so that a search does not find the same member again.
        self._last = given[1:] or self._last
        try:
            return engine.decompress(given, size)
        except engine.errors as error:
            self._last = engine.unused_data[1:] or self._last
            raise self._bad(f"are damaged ({error})") from None

    def _following(self, rest: bytes) -> "Engine | None":
        """Return an engine for the next member or frame, if there is one; zeros may pad the file after the last one."""
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
            raise self._bad("end too early" if cut else "are followed by something else", cut=cut)
        self._given = rest
        return self._open()

    def _bad(self, what: str, *, cut: bool = False) -> BadCapture:
        return BadCapture(f"the {self.form} data {what}", self._made, cut=cut)


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
        """Decompress bytes; an error is raised once everything before it was returned."""
        data = self._rest + data
        # The bytes that are left if there is an error.
        self.unused_data = data
        piece = self._careful(data, most)
        later = data[self._step :]
        self._rest = self._engine.unconsumed_tail + later
        self.needs_input = not self._rest and len(piece) < most
        self.eof = self._engine.eof
        self.unused_data = self._engine.unused_data + later
        return piece

    def _careful(self, data: bytes, most: int) -> bytes:
        """Decompress, with the step halved at each error, because zlib drops the output of a call that fails."""
        while True:
            before = self._engine.copy()
            try:
                return self._engine.decompress(data[: self._step], most)
            except zlib.error:
                if self._step == 1:
                    raise
                self._engine, self._step = before, self._step // 2


class _Zstd:
    """Python's own module or its backport; or the library zstandard, whose output per call cannot be limited."""

    def __init__(self, library: Any) -> None:
        self._engine = library.ZstdDecompressor()
        self._limited = hasattr(self._engine, "needs_input")
        if not self._limited:
            self._engine = self._engine.decompressobj()
        self.given = GIVEN if self._limited else GIVEN_UNBOUNDED
        self.errors: tuple[type[Exception], ...] = (library.ZstdError,)
        self.needs_input = True
        self.eof = False
        self.unused_data = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        piece: bytes = self._engine.decompress(data, most) if self._limited else self._engine.decompress(data)
        self.needs_input = not self._limited or self._engine.needs_input
        self.eof, self.unused_data = self._engine.eof, self._engine.unused_data
        return piece


ZSTD_LIBRARIES = ("compression.zstd", "backports.zstd", "zstandard")
"""Python's own module since 3.14, its backport, and a library that is often installed."""


def _zstd() -> Callable[[], Engine]:
    """Return a function that makes an engine; raises BadCapture if no library is installed."""
    for name in ZSTD_LIBRARIES:
        try:
            return partial(_Zstd, importlib.import_module(name))
        except ModuleNotFoundError:
            continue
    from ...common.extras import needs

    raise BadCapture(needs("zstd", ["Python 3.14 or backports.zstd"], "captures"))

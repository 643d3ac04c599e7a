"""Records of a capture, whatever its container: pcap or pcapng, plain or compressed."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ..types import BadCapture, Record
from . import compressed, pcap, pcapng
from .buffer import Buffer

LOOK = 12
"""Bytes at the beginning of a file that tell its container."""
DEEPEST = 2
"""How many times a file may be compressed."""


def is_capture(first: bytes) -> bool:
    """Tell whether a file whose first bytes, LOOK or more of them, are these is a capture and no text.

    What is compressed counts as a capture, as its content is not known yet.
    """
    return pcap.begins(first) or pcapng.begins(first) or compressed.form(first) != ""


def records(stream: BinaryIO) -> Iterator[Record]:
    """Yield the records of a capture; see Reader."""
    return iter(Reader(stream))


class Reader:
    """Reads a capture from a file or a pipe, once and without seeking.

    Iteration yields every whole record, as soon as its bytes are there, and passes over damage. At the end it
    raises BadCapture if the file is broken; the place is that of the first record or block that breaks it.
    """

    def __init__(self, stream: BinaryIO) -> None:
        # What is there is enough; `read` of a pipe would wait until a whole piece has come.
        self._source: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self.position = 0
        """Bytes read of the file as it is, compressed or not."""
        self.container: tuple[str, ...] = ()
        """From outside to inside, such as `("gzip", "pcapng")`, from when iteration begins."""
        self.secrets: Counter[str] = Counter()
        """Lines of the keys that a pcapng holds so far, by their kind, such as `TLS key log`."""

    def __iter__(self) -> Iterator[Record]:
        """Begin to read; a file that is no capture raises here already."""
        buffer = Buffer(self._read)
        while form := compressed.form(first(buffer)):
            if len(self.container) == DEEPEST:
                raise BadCapture(f"the file is compressed more than {DEEPEST} times")
            self.container += (form,)
            inside = compressed.Decompressed(form, buffer.read)
            buffer = Buffer(inside.read, inside.resume)
        return self._records(buffer)

    def _records(self, buffer: Buffer) -> Iterator[Record]:
        begin = first(buffer)
        if pcap.begins(begin):
            self.container += ("pcap",)
            return pcap.records(buffer)
        if pcapng.begins(begin):
            self.container += ("pcapng",)
            return pcapng.records(buffer, self.secrets)
        raise BadCapture(f"no capture begins with {begin[:4].hex(' ')}" if begin else "the file is empty")

    def _read(self, size: int) -> bytes:
        piece = self._source(size)
        self.position += len(piece)
        return piece


def first(buffer: Buffer) -> bytes:
    """Return the first bytes of a file; raises BadCapture if it is broken before them."""
    if not buffer.need(LOOK) and buffer.broken:
        raise buffer.broken
    return buffer.data[buffer.at : buffer.at + LOOK]

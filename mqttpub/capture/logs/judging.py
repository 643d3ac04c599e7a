"""Whether a file is text, text with bytes that are none, or packets as they are."""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from itertools import chain

from ...codec.framing import frame_length
from ...spec.versions import Version
from ...wire.cursor import Overlong
from ..protocol.evidence import clean
from ..text.digits import begins_packet

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_NOT_PRINTED = bytes((*range(9), *range(0x0E, 0x1B), *range(0x1C, 0x20), *range(0x7F, 0x100)))
_TEXT_SHARE = 0.75
"""The part of a text that is printable ASCII, at least, where it has other bytes."""
_WORD = re.compile(rb"[A-Za-z]{3,}")
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_MOST_LOOKED = 1 << 12
"""Bytes in which a text has words."""
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def is_plain(head: bytes) -> bool:
    """Whether a file that begins with some bytes is UTF-8 without control characters."""
    try:
        return not _CONTROL.search(getincrementaldecoder("utf-8")().decode(head))
    except UnicodeDecodeError:
        return False


def is_text(head: bytes) -> bool:
    """Whether a file that begins with some bytes is text although it is not plain.

    It may have the colours of a terminal, zeros, and single bytes of anything, if it has words and does not begin with
    a packet.
    """
    if head[:2] in _UTF16:
        return True
    printable = len(head.translate(None, _NOT_PRINTED)) + head.count(0)
    if printable < _TEXT_SHARE * len(head) or _begins_packets(head.lstrip(b"\0")):
        return False
    looked = head[:_MOST_LOOKED]
    return _COLOUR.search(looked) is not None or len(_WORD.findall(looked)) >= 2


def _begins_packets(data: bytes) -> bool:
    """Whether the first bytes are a packet, or one with an error that is all there is."""
    try:
        length = frame_length(data[:5]) if data else None
    except Overlong:
        return False
    if length is None:
        return False
    if length == len(data):
        return True
    if not begins_packet(data[0]):
        return False
    return clean(data[:length], Version.V5) or clean(data[:length], Version.V311)


def in_utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a text in UTF-8, also of one in UTF-16 with a byte order mark, as PowerShell writes logs."""
    read = iter(blocks)
    first = next(read, b"")
    name = _UTF16.get(first[:2])
    if name is None:
        yield first
        yield from read
        return
    decoder = getincrementaldecoder(name)("replace")
    for block in chain([first[2:]], read):
        yield decoder.decode(block).encode("utf-8", "replace")

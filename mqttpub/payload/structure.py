"""How items of CBOR (RFC 8949) and MessagePack begin, and whether bytes are well-formed, without decoding any value.

Either could be anything that begins with a small number, so an item only counts if it is a map or an array, and if a
text is in it. Of long payloads only the beginning is checked.
"""

from collections.abc import Callable
from typing import NamedTuple

CHECKED_BYTES = 1 << 16
"""Bytes that are walked, at most; what is well-formed until there counts as well-formed."""
MOST_NESTED = 500

VALUE, TEXT, CHUNKS, ARRAY, MAP, TAG, BREAK = range(7)
"""Kinds of heads; CHUNKS is a string of CBOR in parts, BREAK the end of what has no length."""
UNTIL_BREAK = -1


class ItemHead(NamedTuple):
    """The beginning of an item."""

    begin: int
    """Where its content begins; of a VALUE, where the next item does."""
    kind: int
    size: int = 0
    """Bytes of a TEXT, items of an ARRAY, entries of a MAP (UNTIL_BREAK if no length is given), the number of a TAG."""

    @property
    def items(self) -> int:
        """Return how many items are in it, or UNTIL_BREAK."""
        if self.kind == TAG:
            return 1
        if self.kind == CHUNKS or self.size == UNTIL_BREAK:
            return UNTIL_BREAK
        return {ARRAY: self.size, MAP: 2 * self.size}.get(self.kind, 0)


class MalformedHead(ValueError):
    """No item begins with this byte."""


HeadReader = Callable[[bytes, int], ItemHead]
"""Returns the head at an offset, whose content may reach beyond the data; raises MalformedHead and IndexError."""


def is_cbor(data: bytes) -> bool:
    """Return whether bytes are a map or an array of CBOR with a text in it, or CBOR that says so by its tag 55799."""
    if data.startswith(b"\xd9\xd9\xf7"):
        return _walk(data, cbor_head, needs_text=False)
    return bool(data) and data[0] >> 5 in (4, 5) and _walk(data, cbor_head)


def is_msgpack(data: bytes) -> bool:
    """Return whether bytes are a map or an array of MessagePack with a text in it."""
    return bool(data) and (0x80 <= data[0] < 0xA0 or 0xDC <= data[0] < 0xE0) and _walk(data, msgpack_head)


def _walk(data: bytes, read: HeadReader, *, needs_text: bool = True) -> bool:
    """Return whether one item takes all bytes; with `needs_text`, only if a text that is UTF-8 is in it."""
    at, texts, open_items = 0, 0, [1]
    end, whole = min(len(data), CHECKED_BYTES), len(data) <= CHECKED_BYTES
    try:
        while open_items and at < end:
            head = read(data, at)
            at = head.begin
            if head.kind == BREAK:
                if open_items.pop() >= 0:
                    return False
            else:
                open_items[-1] -= open_items[-1] > 0
                if head.kind == TEXT and head.size:
                    at += head.size
                    data[head.begin : at].decode()
                    texts += 1
                if inside := head.items:
                    open_items.append(inside)
            while open_items and open_items[-1] == 0:
                open_items.pop()
            if len(open_items) > MOST_NESTED:
                return False
    except (MalformedHead, IndexError, UnicodeDecodeError):
        return False
    return bool(texts or not needs_text) and (not whole or (not open_items and at == end))


# CBOR

_CBOR_BREAK = 0xFF
_INDEFINITE = 31
_CBOR_KINDS = {4: ARRAY, 5: MAP, 6: TAG}
"""Kinds of the major types that hold items."""


def cbor_head(data: bytes, at: int) -> ItemHead:
    """Return the head of the item at an offset; raises MalformedHead, and IndexError beyond the end."""
    first = data[at]
    if first == _CBOR_BREAK:
        return ItemHead(at + 1, BREAK)
    major, info = first >> 5, first & 31
    size = 1 << (info - 24) if 24 <= info <= 27 else 0
    if info > 27 and not (info == _INDEFINITE and major in (2, 3, 4, 5)):
        raise MalformedHead
    begin = at + 1 + size
    value = int.from_bytes(data[at + 1 : begin], "big") if size else info
    if info == _INDEFINITE:
        return ItemHead(begin, _CBOR_KINDS.get(major, CHUNKS), UNTIL_BREAK)
    if major == 3:
        return ItemHead(begin, TEXT, value)
    if major == 2:
        return ItemHead(begin + value, VALUE)
    return ItemHead(begin, _CBOR_KINDS.get(major, VALUE), value)


# MessagePack

_SIZED = {
    **{0xC4 + at: (1 << at, 0) for at in range(3)}, **{0xC7 + at: (1 << at, 1) for at in range(3)},
}  # fmt: skip
"""Binary data and extensions by their first byte: bytes of the length, and bytes before the content."""
_FIXED = {
    0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, **{0xCC + at: 1 << at for at in range(4)},
    **{0xD0 + at: 1 << at for at in range(4)}, **{0xD4 + at: (1 << at) + 1 for at in range(5)},
}  # fmt: skip
"""Bytes that follow the first one of constants, numbers and extensions of fixed size."""
_COUNTED = {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
"""Bytes of the length of texts, arrays and maps."""


def msgpack_head(data: bytes, at: int) -> ItemHead:
    """Return the head of the item at an offset; raises MalformedHead, and IndexError beyond the end."""
    first = data[at]
    if first < 0x80 or first >= 0xE0:
        return ItemHead(at + 1, VALUE)
    if first < 0xA0:
        return ItemHead(at + 1, MAP if first < 0x90 else ARRAY, first & 0x0F)
    if first < 0xC0:
        return ItemHead(at + 1, TEXT, first & 0x1F)
    if first in _FIXED:
        return ItemHead(at + 1 + _FIXED[first], VALUE)
    if first in _SIZED:
        size, more = _SIZED[first]
        return ItemHead(at + 1 + size + more + _length(data, at + 1, size), VALUE)
    if first not in _COUNTED:
        raise MalformedHead
    size = _COUNTED[first]
    kind = TEXT if first < 0xDC else ARRAY if first < 0xDE else MAP
    return ItemHead(at + 1 + size, kind, _length(data, at + 1, size))


def _length(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")

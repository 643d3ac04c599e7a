"""Whether bytes are well-formed CBOR (RFC 8949) or MessagePack, checked without decoding any value.

Either could be anything that begins with a small number, so an item only counts if it is a map or an array, and if a
text is in it. Of long payloads only the beginning is checked.
"""

from collections.abc import Callable

CHECKED_BYTES = 1 << 16
"""Bytes that are walked, at most; what is well-formed until there counts as well-formed."""
MOST_NESTED = 500

Item = tuple[int, int, bool]
"""Where the content of an item begins, how many items are in it (-1 for all until a break), and whether it is a text,
of which the number is its bytes. Of what holds no items, the content begins where the next item does."""


class _Malformed(ValueError):
    """The bytes are not what was assumed."""


class _Break(Exception):
    """The end of a CBOR item of indefinite length."""


def is_cbor(data: bytes) -> bool:
    """Return whether bytes are a map or an array of CBOR with a text in it, or CBOR that says so by its tag 55799."""
    if data.startswith(b"\xd9\xd9\xf7"):
        return _walk(data, _cbor, needs_text=False)
    return bool(data) and data[0] >> 5 in (4, 5) and _walk(data, _cbor)


def is_msgpack(data: bytes) -> bool:
    """Return whether bytes are a map or an array of MessagePack with a text in it."""
    return bool(data) and (0x80 <= data[0] < 0xA0 or 0xDC <= data[0] < 0xE0) and _walk(data, _msgpack)


def _walk(data: bytes, item: Callable[[bytes, int], Item], *, needs_text: bool = True) -> bool:
    """Return whether one item takes all bytes; with `needs_text`, only if a text that is UTF-8 is in it."""
    at, texts, open_items = 0, 0, [1]
    end, whole = min(len(data), CHECKED_BYTES), len(data) <= CHECKED_BYTES
    try:
        while open_items and at < end:
            try:
                begin, inside, text = item(data, at)
            except _Break:
                if open_items.pop() >= 0:
                    return False
                at += 1
            else:
                open_items[-1] -= open_items[-1] > 0
                if text and inside:
                    data[begin : begin + inside].decode()
                    texts += 1
                at = begin + inside if text else begin
                if not text and inside:
                    open_items.append(inside)
            while open_items and open_items[-1] == 0:
                open_items.pop()
            if len(open_items) > MOST_NESTED:
                return False
    except (_Malformed, IndexError, UnicodeDecodeError):
        return False
    return bool(texts or not needs_text) and (not whole or (not open_items and at == end))


# CBOR

_CBOR_BREAK = 0xFF
_INDEFINITE = 31


def _cbor(data: bytes, at: int) -> Item:
    first = data[at]
    if first == _CBOR_BREAK:
        raise _Break
    major, info = first >> 5, first & 31
    size = 1 << (info - 24) if 24 <= info <= 27 else 0
    if info > 27 and not (info == _INDEFINITE and major in (2, 3, 4, 5)):
        raise _Malformed
    begin = at + 1 + size
    value = int.from_bytes(data[at + 1 : begin], "big") if size else info
    if info == _INDEFINITE:
        return begin, -1, False
    if major == 3:
        return begin, value, True
    if major == 2:
        return begin + value, 0, False
    # A map has two items for each entry, and a tag is followed by one.
    return begin, {4: value, 5: 2 * value, 6: 1}.get(major, 0), False


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


def _msgpack(data: bytes, at: int) -> Item:
    first = data[at]
    if first < 0x80 or first >= 0xE0:
        return at + 1, 0, False
    if first < 0x90:
        return at + 1, 2 * (first & 0x0F), False
    if first < 0xA0:
        return at + 1, first & 0x0F, False
    if first < 0xC0:
        return at + 1, first & 0x1F, True
    if first in _FIXED:
        return at + 1 + _FIXED[first], 0, False
    if first in _SIZED:
        size, more = _SIZED[first]
        return at + 1 + size + more + _length(data, at + 1, size), 0, False
    if first not in _COUNTED:
        raise _Malformed
    size = _COUNTED[first]
    count = _length(data, at + 1, size)
    return at + 1 + size, count * (2 if first >= 0xDE else 1), first < 0xDC


def _length(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")

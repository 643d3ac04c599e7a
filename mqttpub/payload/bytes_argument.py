"""Arguments that are bytes on the wire: text, `hex:`, `base64:`, `text:` or `@path`."""

from collections.abc import Callable
from typing import BinaryIO

from ..wire.types import MAX_VARIABLE

CHUNK_BYTES = 1 << 16
"""Bytes read at a time."""


def has_prefix(data: bytes) -> bool:
    """Whether `octets` would interpret text instead of taking it literally."""
    return data.startswith((b"@", *(f"{prefix}:".encode() for prefix in PREFIXES)))


def octets(text: str) -> bytes:
    """Return the bytes of an argument: its UTF-8, or those that `hex:`, `base64:`, `text:` or `@path` names.

    Raises ValueError, also for a file that cannot be read.
    """
    if text.startswith("@"):
        return _file(text[1:])
    prefix, colon, rest = text.partition(":")
    if colon and prefix in PREFIXES:
        return PREFIXES[prefix](rest)
    return plain(text)


def plain(text: str) -> bytes:
    """Return the bytes of text taken literally."""
    # Python turns bytes of arguments that are not UTF-8 into lone surrogates; turn them back.
    return text.encode("utf-8", "surrogateescape")


def _hex(text: str) -> bytes:
    from ..capture.text.parse import BadText, read_bytes

    if not text:
        return b""
    try:
        return b"".join(piece.data for piece in read_bytes(text.encode(), "hex"))
    except BadText as error:
        raise ValueError(f"hex: column {error.column}: {error.message}") from None


def _base64(text: str) -> bytes:
    import base64
    import binascii

    padded = text.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"base64: '{text}' is not base64") from None


def _file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return read_value(file, f"'{path}'")
    except OSError as error:
        raise ValueError(f"cannot read '{path}': {error.strerror}") from None


def read_value(file: BinaryIO, source: str) -> bytes:
    """Return the content of a file; raises ValueError as soon as it has more bytes than a packet can carry.

    It is read in chunks, so that memory grows with the content and an endless file is refused. `source` names the
    file in messages.
    """
    pieces, size = [], 0
    while piece := file.read(CHUNK_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_VARIABLE:
            raise ValueError(f"{source} holds more than {MAX_VARIABLE:,} bytes, but no packet can")
    return b"".join(pieces)


PREFIXES: dict[str, Callable[[str], bytes]] = {"hex": _hex, "base64": _base64, "text": plain}

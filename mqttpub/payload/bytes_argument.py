"""Values that are bytes on the wire, as people type them."""

from collections.abc import Callable
from typing import BinaryIO

from ..wire.types import MAX_VARIABLE

PIECE = 1 << 16
"""Bytes that are read at a time."""


def has_prefix(data: bytes) -> bool:
    """Whether text begins as what `octets` does not take as it stands."""
    return data.startswith((b"@", *(f"{prefix}:".encode() for prefix in PREFIXES)))


def octets(text: str) -> bytes:
    """Return the bytes of `text`: UTF-8, or what `hex:`, `base64:`, `text:` or `@path` stands for.

    Raises ValueError with the place of what is wrong, or OSError for a file.
    """
    if text.startswith("@"):
        return _file(text[1:])
    prefix, colon, rest = text.partition(":")
    if colon and prefix in PREFIXES:
        return PREFIXES[prefix](rest)
    return plain(text)


def plain(text: str) -> bytes:
    """Return the bytes of text as it stands."""
    # Arguments that are not UTF-8 reach Python as lone surrogates; give back their bytes.
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
    """Return all of a file; raises ValueError as soon as it holds more than a packet can.

    It is read piece by piece, so that memory grows with what is there and a file that never ends is refused.
    """
    pieces, size = [], 0
    while piece := file.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_VARIABLE:
            raise ValueError(f"{source} holds more than {MAX_VARIABLE:,} bytes, but no packet can")
    return b"".join(pieces)


PREFIXES: dict[str, Callable[[str], bytes]] = {"hex": _hex, "base64": _base64, "text": plain}

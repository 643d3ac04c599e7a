"""Formats whose bytes are what they say: text, JSON, digits, and the bytes themselves."""

from binascii import b2a_base64

from ..common.strict_json import check_json, parse_json, utf8
from .values import ReadPayload


class AnyBytes:
    """Bytes as they are."""

    def convert(self, data: bytes) -> bytes:
        """Return the bytes."""
        return data


class Utf8Text:
    """UTF-8."""

    def convert(self, data: bytes) -> bytes:
        """Return text unchanged; raises ValueError for bytes that are not UTF-8."""
        utf8(data)
        return data

    def read(self, data: bytes) -> ReadPayload:
        """Return the text; raises ValueError with the offset of a byte that is not UTF-8."""
        return ReadPayload(utf8(data))


class Json:
    """JSON."""

    def convert(self, data: bytes) -> bytes:
        """Return JSON unchanged; raises ValueError for text that is not JSON."""
        check_json(data)
        return data

    def read(self, data: bytes) -> ReadPayload:
        """Return the value of JSON; raises ValueError for text that is not JSON."""
        return ReadPayload(parse_json(data))


class Hex:
    """Hexadecimal digits, in any notation that a text of packets may have."""

    def convert(self, data: bytes) -> bytes:
        """Return the bytes of the digits; raises ValueError with the place of what is not a digit."""
        digits = data.strip()
        # Digits without blanks are not a dump with offsets, so the quick way is right.
        if digits.isalnum():
            try:
                return bytes.fromhex(digits.decode("ascii"))
            except ValueError:
                pass  # the text is read below, which says where it is wrong
        return _from_text(data, "hex")

    def read(self, data: bytes) -> ReadPayload:
        """Return the digits."""
        return ReadPayload(data.hex())


class Base64:
    """Base64."""

    def convert(self, data: bytes) -> bytes:
        """Return the bytes of the digits; raises ValueError with the place of what is not a digit."""
        return _from_text(data, "base64")

    def read(self, data: bytes) -> ReadPayload:
        """Return the digits."""
        return ReadPayload(b2a_base64(data, newline=False).decode())


def _from_text(data: bytes, form: str) -> bytes:
    from ..capture.text.parse import read_bytes

    return b"".join(piece.data for piece in read_bytes(data, form)) if data.strip() else b""

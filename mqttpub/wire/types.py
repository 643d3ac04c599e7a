"""The data types of MQTT (5.0: section 1.5; 3.1.1: section 1.5; 3.1: sections 2.1 and 2.5)."""

from operator import index
from typing import Any, Protocol

from .cursor import Cursor

MAX_VARIABLE = 268_435_455
"""Largest value of a Variable Byte Integer, and so the largest Remaining Length."""


class WireType(Protocol):
    """A data type: how a value is written as bytes."""

    name: str = ""
    """Name in the specification."""
    section: str = "1.5"
    prefix: int = 0
    """Number of bytes before the value that hold its length."""

    def read(self, cursor: Cursor) -> Any:
        """Return the value at the cursor; raises Short or Overlong."""

    def write(self, value: Any) -> bytes:
        """Return the bytes of a value; raises ValueError for a value that does not fit."""

    def __repr__(self) -> str:
        return self.name


class Integer(WireType):
    """An unsigned integer of a fixed number of bytes, most significant first."""

    def __init__(self, name: str, section: str, size: int) -> None:
        self.name, self.section, self.size = name, section, size

    def read(self, cursor: Cursor) -> int:
        return cursor.integer(self.size)

    def write(self, value: int) -> bytes:
        if not 0 <= value < 256**self.size:
            raise ValueError(f"{value} does not fit a {self.name} (0 to {256**self.size - 1})")
        return index(value).to_bytes(self.size, "big")


class VariableInteger(WireType):
    """An integer of one to four bytes with seven bits each, least significant first (5.0: 1.5.5)."""

    name = "Variable Byte Integer"
    section = "1.5.5"

    def read(self, cursor: Cursor) -> int:
        return cursor.variable()

    def write(self, value: int) -> bytes:
        if not 0 <= value <= MAX_VARIABLE:
            raise ValueError(f"{value} does not fit a {self.name} (0 to {MAX_VARIABLE})")
        encoded = bytearray()
        while value > 0x7F:
            encoded.append(value & 0x7F | 0x80)
            value >>= 7
        encoded.append(value)
        return bytes(encoded)


class Binary(WireType):
    """Up to 65,535 bytes after a length of two bytes (5.0: 1.5.6)."""

    name = "Binary Data"
    section = "1.5.6"
    prefix = 2

    def read(self, cursor: Cursor) -> bytes:
        start = cursor.pos
        return cursor.take(cursor.integer(2), start)

    def write(self, value: bytes) -> bytes:
        if len(value) > 0xFFFF:
            raise ValueError(f"{len(value)} bytes do not fit {self.name} (0 to 65535 bytes)")
        return len(value).to_bytes(2, "big") + value


class String(WireType):
    """Up to 65,535 bytes of UTF-8 after a length of two bytes (5.0: 1.5.4).

    Bytes that are not UTF-8 become lone surrogates (`surrogateescape`), so that writing the value again gives the
    same bytes.
    """

    name = "UTF-8 Encoded String"
    section = "1.5.4"
    prefix = 2

    def read(self, cursor: Cursor) -> str:
        start = cursor.pos
        return cursor.take(cursor.integer(2), start).decode("utf-8", "surrogateescape")

    def write(self, value: str) -> bytes:
        return BINARY.write(value.encode("utf-8", "surrogateescape"))


class StringPair(WireType):
    """A name and a value, each a UTF-8 Encoded String (5.0: 1.5.7)."""

    name = "UTF-8 String Pair"
    section = "1.5.7"

    def read(self, cursor: Cursor) -> tuple[str, str]:
        start = cursor.pos
        try:
            return STRING.read(cursor), STRING.read(cursor)
        except Exception:
            cursor.pos = start
            raise

    def write(self, value: tuple[str, str]) -> bytes:
        # A text of two characters has two texts, too.
        if isinstance(value, str) or len(value) != 2:
            raise ValueError("a pair has two texts")
        return STRING.write(value[0]) + STRING.write(value[1])


class Rest(WireType):
    """All bytes up to the end of the packet."""

    name = "the rest of the packet"
    section = "3.3.3"

    def read(self, cursor: Cursor) -> bytes:
        return cursor.take(cursor.end - cursor.pos)

    def write(self, value: bytes) -> bytes:
        # bytes(5) would be five bytes of 0.
        return value if isinstance(value, bytes) else bytes(memoryview(value))


def readable(text: str) -> str:
    r"""Return text that is valid Unicode, as tables and JSON require: bytes that are not UTF-8 become `\xff`."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


BYTE = Integer("Byte", "1.5.1", 1)
U16 = Integer("Two Byte Integer", "1.5.2", 2)
U32 = Integer("Four Byte Integer", "1.5.3", 4)
VARIABLE = VariableInteger()
BINARY = Binary()
STRING = String()
PAIR = StringPair()
REST = Rest()

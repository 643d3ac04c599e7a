"""The fixed header: where a packet ends, and the version that a CONNECT announces."""

from ..spec.fields import Packet
from ..spec.packets import PACKETS
from ..spec.terms import Version
from ..wire.cursor import Cursor, Overlong, Short

CONNECT = 1


def declared(code: int, version: Version) -> type[Packet] | None:
    """Return the declaration of a packet type, or None where the version has none."""
    cls = PACKETS.get(code)
    return cls if cls and cls.since <= version else None


def frame_length(data: bytes | bytearray, start: int = 0) -> int | None:
    """Return the length of the packet at `start`, header included; None when more bytes are needed.

    Raises Overlong when the Remaining Length does not end at its fourth byte
    (5.0: 2.1.4; 3.1.1: 2.2.3; 3.1: 2.1).
    """
    remaining = 0
    stop = len(data)
    for size in range(4):
        at = start + 1 + size
        if at >= stop:
            return None
        byte = data[at]
        remaining |= (byte & 0x7F) << (7 * size)
        if byte < 0x80:
            return 2 + size + remaining
    raise Overlong(start + 1)


def connect_version(data: bytes) -> Version | None:
    """Return the version that the CONNECT in `data` announces; None when it is no CONNECT.

    A level without a version of its own is read as the nearest one.
    """
    if not data or data[0] >> 4 != CONNECT:
        return None
    cursor = Cursor(data, 1)
    try:
        with cursor.window(cursor.variable()):
            cursor.take(cursor.integer(2))
            return Version.of_level(cursor.integer(1))
    except (Short, Overlong):
        return None

"""The protocol of a connection, from its first bytes."""

import re
from enum import Enum

from ...codec.framing import frame_length
from ...spec.packets import Connect
from ...wire.cursor import Cursor, Overlong, Short

LONGEST = 1 << 16
"""Bytes of both sides that are held while the protocol is unknown, at most."""

TELLING = 12
"""Bytes that are enough to recognize TLS, HTTP and SSH."""


class Opening(Enum):
    """The protocol with which a side begins; the value is its usual name."""

    MQTT = "MQTT"
    TLS = "TLS"
    HTTP = "HTTP"
    SSH = "SSH"
    UNKNOWN = "unknown"


_NAME = re.compile(rb"MQTT|MQIsdp", re.IGNORECASE)
_HTTP = re.compile(
    rb"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH) [^ \x00-\x1f]|HTTP/1\.[01] |PRI \* HTTP/2"
)
_BEGUN = (
    *(b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"CONNECT ", b"OPTIONS ", b"TRACE ", b"PATCH ", b"HTTP/1."),
    *(b"PRI * HTTP/2", b"SSH-", b"\x14\x03", b"\x15\x03", b"\x16\x03", b"\x17\x03"),
)
"""How TLS, HTTP and SSH begin."""
_TLS = re.compile(rb"[\x14-\x17]\x03[\x00-\x04]")


def opening(data: bytes | bytearray) -> Opening | None:
    """Return the protocol of the first bytes of a side; None while more bytes are needed."""
    if not data:
        return None
    if data[0] >> 4 == Connect.code and not _TLS.match(data):
        return _connect(bytes(data[:32]))
    if _TLS.match(data):
        return Opening.TLS
    if _HTTP.match(data):
        return Opening.HTTP
    if data.startswith(b"SSH-"):
        return Opening.SSH
    begun = len(data) < TELLING and any(each.startswith(data) or data.startswith(each) for each in _BEGUN)
    return None if begun else Opening.UNKNOWN


def _connect(data: bytes) -> Opening | None:
    """Return whether a CONNECT begins, up to its protocol level; None while more bytes are needed."""
    try:
        length = frame_length(data)
        cursor = Cursor(data, 1)
        cursor.variable()
        size = cursor.integer(2)
        if size not in (4, 6):
            return Opening.UNKNOWN
        name = cursor.take(size)
        cursor.take(1)
    except Overlong:
        return Opening.UNKNOWN
    except Short:
        return None
    return Opening.MQTT if _NAME.fullmatch(name) and length and length > cursor.pos else Opening.UNKNOWN


HANDSHAKE, CLIENT_HELLO = 0x16, 1
_SERVER_NAME = 0


def hello_length(data: bytes | bytearray) -> int:
    """Return how many bytes of a TLS ClientHello are needed to find the server name in it; 0 for another message."""
    if data[0] != HANDSHAKE:
        return 0
    return 5 + int.from_bytes(data[3:5], "big") if len(data) > 5 else 6


def server_name(data: bytes) -> str:
    """Return the server name in a TLS ClientHello (RFC 6066, section 3), or an empty string."""
    cursor = Cursor(data, 5)
    try:
        if cursor.integer(1) != CLIENT_HELLO:
            return ""
        cursor.take(3 + 2 + 32)
        for size in (1, 2, 1):
            cursor.take(cursor.integer(size))
        with cursor.window(cursor.integer(2)):
            while cursor.pos < cursor.end:
                kind = cursor.integer(2)
                value = cursor.take(cursor.integer(2))
                if kind == _SERVER_NAME:
                    return value[5:].decode("ascii", "backslashreplace")
    except Short:
        pass
    return ""

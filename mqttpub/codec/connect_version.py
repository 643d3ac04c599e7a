"""Which version of MQTT a connection speaks, according to its CONNECT and CONNACK."""

from ..spec.packets import Connack, Connect
from ..spec.reason_codes import CONNECT_RETURN_CODES
from ..spec.versions import Version
from ..wire.cursor import Cursor, Overlong, Short
from .fast_decode import Irregular, reader

RETURN_CODES = frozenset(each.code for each in CONNECT_RETURN_CODES if each.code)
"""With these a CONNACK before 5.0 refuses the connection; in 5.0 none of them is a Reason Code of CONNACK."""
_REFUSALS = frozenset(bytes((Connack.code << 4, 2, flags, code)) for flags in (0, 1) for code in RETURN_CODES)
"""The bytes of each such CONNACK, with Session Present 0 or 1."""


def connect_version(data: bytes) -> Version | None:
    """Return the version that the CONNECT in `data` announces; None for other packets and unknown levels."""
    level = _connect_level(data)[1]
    return None if level is None else Version.of_level(level)


def unknown_level(data: bytes) -> int | None:
    """Return the protocol level of the CONNECT in `data` if no version has that level; otherwise None."""
    level = _connect_level(data)[1]
    return level if level is not None and Version.of_level(level) is None else None


def connect_layout(data: bytes) -> Version | None:
    """Return the version by which the CONNECT in `data` is to be read; None for other packets.

    That is the version it announces. With an unknown level it is 5.0 if the bytes fit only 5.0, otherwise 3.1.1 (3.1
    for its protocol name): before 5.0 the Client Identifier comes right after the Keep Alive, without properties.
    """
    name, level = _connect_level(data)
    if level is None:
        return None
    if version := Version.of_level(level):
        return version
    if name == b"MQIsdp":
        return Version.V31
    return Version.V5 if not _fits(data, Version.V311) and _fits(data, Version.V5) else Version.V311


def answer_form(data: bytes, version: Version) -> Version:
    """Return the version by which to read `data`, a server's first packet, after a CONNECT that announces `version`.

    A server that does not support 5.0 refuses such a CONNECT with a CONNACK of its own version (3.1.1: 3.1.2-2). That
    CONNACK ends after its return code, where every CONNACK of 5.0 has a Property Length, so it cannot be mistaken.
    """
    return min(version, Version.V311) if data in _REFUSALS else version


def _connect_level(data: bytes) -> tuple[bytes, int | None]:
    """Return the protocol name and level of a CONNECT; the level is None for other packets and cut ones."""
    if not data or data[0] >> 4 != Connect.code:
        return b"", None
    cursor = Cursor(data, 1)
    try:
        with cursor.window(cursor.variable()):
            return cursor.take(cursor.integer(2)), cursor.integer(1)
    except (Short, Overlong):
        return b"", None


def _fits(data: bytes, version: Version) -> bool:
    """Whether a CONNECT consists exactly of the fields that `version` has."""
    cursor = Cursor(data, 1)
    try:
        length = cursor.variable()
        cursor.take(length)
        reader(Connect.code, version)(data, data[0], cursor.pos - length, cursor.pos)
    except (Short, Overlong, Irregular):
        return False
    return True

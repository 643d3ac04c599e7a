"""Packets in: received bytes are cut into packets, checked, and passed to the handler of their type."""

from ...codec.connect_version import connect_layout
from ...codec.decode import decode
from ...codec.stream import Frame, LostSync
from ...spec.packets import Connect, Publish
from ...spec.versions import Direction, Version
from ...wire.cursor import Cursor, Overlong, Short
from .connect import admit
from .connection import ClientConnection
from .handlers import HANDLERS
from .refusal import PROTOCOL, QUOTA, Refusal, check


def receive(connection: ClientConnection, data: bytes) -> None:
    """Act on bytes from the client; whatever they are, nothing is raised."""
    connection.heard = connection.hub.clock()
    frames = connection.stream.feed(data)
    try:
        while connection.open and (frame := next(frames, None)) is not None:
            _act_on(connection, frame)
    except LostSync as lost:
        connection.out_of_sync(lost.message)
    except Refusal as refusal:
        connection.refuse(refusal.code, refusal.text)


def _act_on(connection: ClientConnection, frame: Frame) -> None:
    """Act on one packet; raises Refusal."""
    code = frame.data[0] >> 4
    if connection.session is None:
        connection.learn(connect_layout(frame.data))
    if not connection.version_known and code != Connect.code:
        raise Refusal(PROTOCOL, f"the first packet has type {code}, but must be a CONNECT")
    _check_size(connection, frame.data, code)
    decoded = decode(frame.data, connection.version, direction=Direction.CLIENT)
    if connection.session is None:
        admit(connection, decoded)
        return
    if code == Connect.code:
        raise Refusal(PROTOCOL, "a second CONNECT on this connection")
    check(decoded)
    HANDLERS[code](connection, decoded.packet)


def _check_size(connection: ClientConnection, data: bytes, code: int) -> None:
    """Refuse a packet that would cost far more memory and time than its bytes; raises Refusal."""
    limits = connection.hub.limits
    if code == Publish.code:
        length, limit = _property_length(data, connection.version), limits.request
    else:
        length, limit = len(data), limits.connect if code == Connect.code else limits.request
    if length > limit:
        what = "of properties" if code == Publish.code else "in one packet"
        raise Refusal(QUOTA, f"{length} bytes {what}, but this broker accepts {limit}")


def _property_length(data: bytes, version: Version) -> int:
    """Return the Property Length of a PUBLISH; 0 where there is none or it cannot be read."""
    cursor = Cursor(data, 1)
    try:
        cursor.variable()
        cursor.take(cursor.integer(2))
        cursor.take(2 if data[0] & 6 else 0)
        return cursor.variable() if version == Version.V5 else 0
    except (Short, Overlong):
        return 0

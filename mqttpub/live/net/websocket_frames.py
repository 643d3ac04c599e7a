"""The frames that a server sends over a WebSocket, read as they arrive (RFC 6455, 5)."""

from typing import NamedTuple

from ...spec.versions import Version

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
OPCODES = (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG)
FIN, RESERVED, MASK = 0x80, 0x70, 0x80
"""Bits of the first two bytes of a frame; RESERVED are RSV1 to RSV3."""
LONGEST_CONTROL = 125
"""Most bytes of the payload of a control frame."""
WIDTHS = {126: 2, 127: 8}
"""Bytes of the length that follows these lengths."""
PROTOCOL_ERROR = 1002
"""Status code of a CLOSE."""
FIRST_CODE, LAST_CODE = 1000, 4999
NOT_SENT = (1004, 1005, 1006, 1015)
"""Status codes that no CLOSE may have (7.4.1)."""
NO_TEXT = {Version.V5: " (MQTT5-6.0.0-1)", Version.V311: " (MQTT311-6.0.0-1)"}


class FrameFault(ValueError):
    """The server broke the framing; `data` is the head of the frame."""

    def __init__(self, message: str, data: bytes) -> None:
        super().__init__(message)
        self.data = data


class ControlFrame(NamedTuple):
    """A CLOSE, PING or PONG."""

    opcode: int
    payload: bytes


class FrameReader:
    """Takes bytes as they arrive, and cuts them into the bytes of messages and control frames.

    Only the head of a frame and the payload of a control frame are kept, never a length that a frame declares.
    """

    def __init__(self, version: Version) -> None:
        self.controls: list[ControlFrame] = []
        """The control frames that came; the caller removes them."""
        self.fault: FrameFault | None = None
        """Set at the first fault; nothing is read after it."""
        self._version = version
        self._waiting = b""
        """The beginning of a frame that is not complete."""
        self._left = 0
        """Bytes of the payload of a data frame that have not come."""
        self._continues = False
        """Whether a message has begun and not ended."""
        self._closed = False

    def feed(self, data: bytes) -> bytes:
        """Return the bytes of messages among the next bytes."""
        message, at = [], 0
        data, self._waiting = self._waiting + data, b""
        while at < len(data) and not self.fault:
            if self._left:
                piece = data[at : at + self._left]
                message.append(piece)
                self._left -= len(piece)
                at += len(piece)
                continue
            try:
                used = self._frame(data, at)
            except FrameFault as fault:
                self.fault = fault
                break
            if not used:
                self._waiting = data[at:]
                break
            at += used
        return b"".join(message)

    def _frame(self, data: bytes, at: int) -> int:
        """Read the head of a data frame or a whole control frame; return its bytes, 0 where not all are there."""
        if len(data) - at < 2:
            return 0
        first, second = data[at], data[at + 1]
        opcode, size = first & 0x0F, second & 0x7F
        self._check(opcode, first, second, data[at : at + 2])
        width = WIDTHS.get(size, 0)
        start = at + 2 + width
        if len(data) < start:
            return 0
        if width:
            size = _long(data[at:start])
        if opcode < CLOSE:
            self._continues = not first & FIN
            self._left = size
            return start - at
        if len(data) < start + size:
            return 0
        payload = data[start : start + size]
        if opcode == CLOSE:
            _check_close(payload, data[at:start])
            self._closed = True
        self.controls.append(ControlFrame(opcode, payload))
        return start + size - at

    def _check(self, opcode: int, first: int, second: int, head: bytes) -> None:
        """Raise FrameFault for a head that no server may send now."""
        if first & RESERVED:
            raise FrameFault("a frame with a reserved bit, though no extension was agreed (RFC 6455, 5.2)", head)
        if opcode not in OPCODES:
            raise FrameFault(f"a frame with the reserved opcode {opcode} (RFC 6455, 5.2)", head)
        if second & MASK:
            raise FrameFault("a masked frame, which only a client sends (RFC 6455, 5.1)", head)
        if opcode >= CLOSE:
            if not first & FIN:
                raise FrameFault("a control frame in fragments (RFC 6455, 5.5)", head)
            if second > LONGEST_CONTROL:
                raise FrameFault(f"a control frame with more than {LONGEST_CONTROL} bytes (RFC 6455, 5.5)", head)
        elif self._closed:
            raise FrameFault("a data frame after CLOSE (RFC 6455, 5.5.1)", head)
        elif opcode == CONTINUATION and not self._continues:
            raise FrameFault("a continuation of no message (RFC 6455, 5.4)", head)
        elif opcode != CONTINUATION and self._continues:
            raise FrameFault("a new message before the last fragment of another (RFC 6455, 5.4)", head)
        elif opcode == TEXT:
            raise FrameFault(f"a text frame, but MQTT uses binary frames only{NO_TEXT.get(self._version, '')}", head)


def _long(head: bytes) -> int:
    """Return the length in 2 or 8 bytes after the first two; raises FrameFault."""
    size = int.from_bytes(head[2:], "big")
    if size >> 63:
        raise FrameFault("a frame whose length has its highest bit set (RFC 6455, 5.2)", head)
    if size <= (LONGEST_CONTROL if len(head) == 4 else 0xFFFF):
        raise FrameFault(f"a frame whose length {size} has more bytes than necessary (RFC 6455, 5.2)", head)
    return size


def _check_close(payload: bytes, head: bytes) -> None:
    """Raise FrameFault for a CLOSE with a wrong status code or reason."""
    if not payload:
        return
    code = int.from_bytes(payload[:2], "big")
    if len(payload) == 1:
        raise FrameFault("a CLOSE with half a status code (RFC 6455, 5.5.1)", head + payload)
    if code in NOT_SENT or not FIRST_CODE <= code <= LAST_CODE:
        raise FrameFault(f"a CLOSE with the status code {code} (RFC 6455, 7.4)", head + payload[:2])
    try:
        payload[2:].decode()
    except UnicodeDecodeError:
        raise FrameFault("a CLOSE whose reason is not UTF-8 (RFC 6455, 5.5.1)", head + payload[:2]) from None

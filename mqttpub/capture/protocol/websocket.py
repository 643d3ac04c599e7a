"""WebSocket (RFC 6455): frames, masks, fragments and compression (RFC 7692)."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from ...traffic.events import GAP_BYTES, Event, Remark
from ..types import Chunk, End, Flow, Missing, Unreadable
from .handler import HandlerSlot, ends_of

PIECE = 1 << 16
"""Bytes that are inflated at a time."""
FREE = 16 << 20
"""Bytes to which any message may inflate."""
LARGEST_RATIO = 200
"""The ratio of inflated to compressed size of a larger message, at most."""
WINDOW = 1 << zlib.MAX_WBITS
"""The number of latest inflated bytes to which DEFLATE data can refer."""
MOST_REPEATED = 1 << 20
"""Bytes of a compressed message that are kept to inflate them again after pickling, at most."""

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FIN, COMPRESSED, RESERVED, OPCODE, CONTROL = 0x80, 0x40, 0x30, 0x0F, 0x08
MASKED, LENGTH, TWO_BYTES, EIGHT_BYTES = 0x80, 0x7F, 126, 127
MOST_CONTROL = 125
_TAIL = b"\x00\x00\xff\xff"
_QUIET = frozenset((1000, 1001))
"""Close codes without a remark."""


class WebSocketError(Exception):
    """The rest of this direction cannot be read."""

    def __init__(self, message: str, malformed: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.malformed = malformed
        """Whether the peer broke the protocol; False if the capture is incomplete."""


class WebSocketConnection:
    """Handles a connection of WebSocket frames; `carried` handles the payloads of its binary messages."""

    def __init__(
        self, flow: Flow, client: int, carried: HandlerSlot, extensions: str, remark: Remark | None
    ) -> None:  # fmt: skip
        self.flow = flow
        self.client = client
        self.carried = carried
        self.remark = remark
        """Yielded once it is clear that MQTT is carried."""
        offered = _deflate(extensions)
        self.frames: tuple[WebSocketFrames, ...] = tuple(
            WebSocketFrames(
                side == client, None if offered is None else Inflater(_ROLES[side == client] not in offered)
            )
            for side in (0, 1)
        )

    def chunk(self, chunk: Chunk) -> Iterator[Event]:
        """Handle the next bytes of a side."""
        flow, side, time_ns, record, data = chunk
        frames = self.frames[side]
        try:
            for payload in frames.feed(data):
                yield from self._events(self.carried.feed(Chunk(flow, side, time_ns, record, payload)))
        except WebSocketError as error:
            yield from self._lost(chunk, error)
        if frames.remarks:
            for text in frames.remarks:
                yield Remark(ends_of(self.flow, self.client), time_ns, record, None, f"{self._who(side)}: {text}")
            frames.remarks.clear()

    def missing(self, missing: Missing) -> Iterator[Event]:
        """Skip bytes that were not captured, if only payload is missing; else give the side up."""
        try:
            length = self.frames[missing.side].missing(missing.length, missing.message)
        except WebSocketError as error:
            yield from self._lost(missing, error)
            return
        if length:
            yield from self._events(self.carried.feed(missing._replace(length=length)))

    def unreadable(self, unreadable: Unreadable) -> Iterator[Event]:
        """Give up the rest of a side."""
        return self._lost(unreadable, WebSocketError(unreadable.message, unreadable.malformed), unreadable.data)

    def end(self, end: End) -> Iterator[Event]:
        """Handle the end of one side or of both."""
        return self._events(self.carried.feed(end))

    def _events(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if self.remark:
                yield self.remark
                self.remark = None
            yield event

    def _lost(self, piece: Chunk | Missing | Unreadable, error: "WebSocketError", data: bytes = b"") -> Iterator[Event]:
        header = self.frames[piece.side].stop()
        shown = data or header
        unreadable = Unreadable(
            piece.flow, piece.side, piece.time_ns, piece.record, error.message, shown, error.malformed
        )
        yield from self._events(self.carried.feed(unreadable))

    def _who(self, side: int) -> str:
        return "client" if side == self.client else "server"


_ROLES = {True: "client_no_context_takeover", False: "server_no_context_takeover"}


def _deflate(extensions: str) -> set[str] | None:
    """Return the parameters of permessage-deflate; None if it was not negotiated."""
    for extension in extensions.split(","):
        name, *parameters = (part.strip().lower() for part in extension.split(";"))
        if name == "permessage-deflate":
            return {parameter.partition("=")[0].strip() for parameter in parameters}
    return None


# frames


class WebSocketFrames:
    """The frames of one direction: bytes in, the payload of binary messages out.

    `feed` raises WebSocketError where the frames break RFC 6455, or are of a kind in which MQTT must not travel; the
    payload that it yielded before is valid. Only an unfinished header and a control frame are kept.
    """

    def __init__(self, masked: bool, inflater: "Inflater | None" = None) -> None:
        self.masked = masked
        """Whether the frames of this end have to be masked."""
        self.remarks: list[str] = []
        self._inflater = inflater
        self._compressed = False
        self._open = False
        """Whether a message continues in the next frame."""
        self._header = bytearray()
        self._first = 0
        self._left = 0
        self._key = b""
        self._turn = 0
        self._control = bytearray()
        self._closed = False
        self._told = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the payload in the next bytes."""
        at, size = 0, len(data)
        while at < size and not self._closed:
            if not self._left:
                at = self._begin(data, at)
                if self._left or self._header:
                    continue
                yield from self._payload(b"")
                continue
            stop = min(size, at + self._left)
            piece = data[at:stop]
            self._left -= stop - at
            at = stop
            yield from self._payload(unmasked(piece, self._key, self._turn) if self._key else piece)
            self._turn += len(piece)

    def missing(self, length: int, message: str) -> int:
        """Skip bytes within one payload, and return how many of them belong to MQTT.

        Raises WebSocketError where more than payload is missing.
        """
        if self._closed:
            return 0
        if length > self._left:
            raise WebSocketError(
                f"{message}, a header of a WebSocket frame with them; nothing after that can be read", False
            )
        if self._compressed and not self._first & CONTROL:
            raise WebSocketError(
                f"{message}, from a compressed WebSocket message; nothing after that can be read", False
            )
        self._left -= length
        self._turn += length
        if self._first & CONTROL:
            self._control += bytes(length)
            length = 0
        if not self._left:
            self._ended()
        return length

    def stop(self) -> bytes:
        """Read nothing more; return the last header."""
        self._closed = True
        return bytes(self._header[:GAP_BYTES])

    def _begin(self, data: bytes, at: int) -> int:
        """Read as much of a header as there is, and return the index after it."""
        header = self._header
        while True:
            due = _header_size(header)
            taken = data[at : at + due - len(header)]
            header += taken
            at += len(taken)
            if len(header) < due:
                return at
            if due == _header_size(header):
                break
        self._first = header[0]
        self._check(header)
        self._left, self._key = _length(header), bytes(header[-4:]) if header[1] & MASKED else b""
        self._turn = 0
        header.clear()
        return at

    def _check(self, header: bytearray) -> None:
        """Raise WebSocketError for a frame that must not be here (RFC 6455, section 5)."""
        first, opcode = header[0], header[0] & OPCODE
        if first & RESERVED or (first & COMPRESSED and not self._may_compress(opcode)):
            raise WebSocketError(f"WebSocket frame with reserved bits set, 0x{first:02x}, which were not negotiated")
        if opcode not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG):
            raise WebSocketError(f"WebSocket frame with reserved opcode {opcode}")
        if opcode & CONTROL:
            if not first & FIN or _length(header) > MOST_CONTROL:
                raise WebSocketError("WebSocket control frame that is fragmented, or longer than 125 bytes")
        elif (opcode == CONTINUATION) != self._open:
            wrong = "no message that it continues" if opcode == CONTINUATION else "a message that is not finished"
            raise WebSocketError(f"WebSocket frame with opcode {opcode} after {wrong}")
        if opcode == TEXT:
            raise WebSocketError(
                "WebSocket text frame, but MQTT travels in binary frames only (MQTT5-6.0.0-1, MQTT311-6.0.0-1)"
            )
        if _length(header) >> 63:
            raise WebSocketError("WebSocket frame with a length of 64 bits")
        if bool(header[1] & MASKED) != self.masked:
            self.wrongly_masked()

    def wrongly_masked(self) -> None:
        """Remark once on a frame that is masked and should not be, or the other way round."""
        if not self._told:
            self._told = True
            is_not = (
                "not masked, but those of a client must be"
                if self.masked
                else "masked, but those of a server must not be"
            )
            self.remarks.append(f"WebSocket frames are {is_not} (RFC 6455, section 5.1)")

    def _may_compress(self, opcode: int) -> bool:
        return self._inflater is not None and opcode in (TEXT, BINARY)

    def _payload(self, data: bytes) -> Iterator[bytes]:
        """Yield the MQTT bytes in a piece of payload, which may be the last one of its frame."""
        if self._first & CONTROL:
            self._control += data
        else:
            if self._first & OPCODE:
                self._compressed = self._first & COMPRESSED != 0
            if self._compressed and self._inflater:
                yield from self._inflater.feed(data)
                if not self._left and self._first & FIN:
                    yield from self._inflater.finish()
            elif data:
                yield data
        if not self._left:
            self._ended()

    def _ended(self) -> None:
        """Handle the end of a frame."""
        if not self._first & CONTROL:
            self._open = not self._first & FIN
            return
        control = bytes(self._control)
        self._control.clear()
        self.control(self._first & OPCODE, control)

    def control(self, opcode: int, payload: bytes) -> None:
        """Take a whole control frame; nothing is read after CLOSE, whose code is remarked on."""
        if opcode != CLOSE:
            return
        self._closed = True
        code = int.from_bytes(payload[:2], "big")
        if payload and code not in _QUIET:
            reason = payload[2:].decode("utf-8", "backslashreplace")
            self.remarks.append(f"WebSocket closed with code {code}{f', {reason}' if reason else ''}")


def _header_size(header: bytearray) -> int:
    """Return the length of a header, as far as its first bytes show it."""
    if len(header) < 2:
        return 2
    return 2 + {TWO_BYTES: 2, EIGHT_BYTES: 8}.get(header[1] & LENGTH, 0) + (4 if header[1] & MASKED else 0)


def _length(header: bytearray) -> int:
    """Return the length of the payload after a whole header."""
    short = header[1] & LENGTH
    if short < TWO_BYTES:
        return short
    return int.from_bytes(header[2:4] if short == TWO_BYTES else header[2:10], "big")


def unmasked(data: bytes, key: bytes, turn: int) -> bytes:
    """Return a piece of payload without its mask; `turn` is its offset in the payload (section 5.3)."""
    size = len(data)
    turn %= 4
    pad = ((key[turn:] + key[:turn]) * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(size, "big")


class Inflater:
    """Inflates the messages of one direction (RFC 7692, section 7.2.2), a piece at a time.

    Pickling includes the compressed bytes of the message in progress; after more than MOST_REPEATED of them, the
    rest of the message cannot be inflated.
    """

    def __init__(self, keeps_context: bool) -> None:
        self.keeps_context = keeps_context
        self._begin(b"")
        self._taken = 0
        self._given = 0

    def _begin(self, window: bytes) -> None:
        """Start a message, or new DEFLATE data within it; `window` is the output before it."""
        self._inflate: Any = _inflate(window)
        self._window = window
        self._compressed = bytearray()
        self._inflated = bytearray()

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the object of zlib, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_inflate"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Inflate the bytes of the message in progress again."""
        vars(self).update(state)
        self._inflate = _inflate(self._window)
        data = bytes(self._compressed)
        if len(data) > MOST_REPEATED:
            self._inflate = _Forgotten()
            return
        while data:
            self._inflate.decompress(data, PIECE)
            data = self._inflate.unconsumed_tail

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the inflated bytes of the next bytes of a message.

        Raises WebSocketError for bytes that are not DEFLATE data, and for a message that inflates too much.
        """
        self._taken += len(data)
        self._remember(data)
        while data or self._inflate.unconsumed_tail:
            try:
                piece = self._inflate.decompress(data, PIECE)
            except zlib.error as error:
                raise self._fault(f"WebSocket message that cannot be inflated: {error}") from None
            self._given += len(piece)
            if self._given > max(FREE, LARGEST_RATIO * self._taken):
                raise self._fault(
                    f"WebSocket message of {self._taken:,} bytes that inflates to more than {LARGEST_RATIO} times that"
                )
            if piece:
                self._inflated += piece
                yield piece
            data = self._inflate.unconsumed_tail
            if self._inflate.eof:
                data = self._inflate.unused_data
                self._begin(b"")
                self._remember(data)
            elif len(self._inflated) > 2 * PIECE:
                del self._inflated[:-WINDOW]

    def _remember(self, data: bytes) -> None:
        # One byte above the limit shows that there were too many.
        self._compressed += data[: MOST_REPEATED + 1 - len(self._compressed)]

    def _fault(self, message: str) -> WebSocketError:
        self._begin(b"")
        return WebSocketError(message)

    def finish(self) -> Iterator[bytes]:
        """Yield the rest of a message."""
        yield from self.feed(_TAIL)
        self._taken = self._given = 0
        if not self.keeps_context:
            self._begin(b"")
            return
        # The message ends with a whole block, so the next one needs its bytes only as a window.
        self._window = (self._window + bytes(self._inflated[-WINDOW:]))[-WINDOW:]
        self._compressed.clear()
        self._inflated.clear()


class _Forgotten:
    """Replaces the inflater of a message that cannot be inflated any further."""

    unconsumed_tail = b""

    def decompress(self, data: bytes, most: int) -> bytes:
        raise zlib.error(f"more than {MOST_REPEATED:,} bytes of it came before a pause")


def _inflate(window: bytes) -> Any:
    return zlib.decompressobj(-zlib.MAX_WBITS, zdict=window) if window else zlib.decompressobj(-zlib.MAX_WBITS)

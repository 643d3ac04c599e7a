"""WebSocket: paho's framing on a socket that records the answer to the upgrade.

The framing is a private class of paho, so that --ws needs nothing but the core dependencies; tests/live/net/
test_websocket.py fails where a new paho changes it."""

import os
from collections import deque
from contextlib import suppress
from typing import Any

from paho.mqtt.client import _WebsocketWrapper

from ..failures import NotConnected, PeerFault, Unusable
from ..tap import NoPayload, again
from .deadline import left
from .errors import speaks
from .target import Target
from .urls import check_header, check_host, check_path, shown_path
from .websocket_frames import BINARY, CLOSE, PING, PONG, PROTOCOL_ERROR, FrameReader

HEADER = "Sec-WebSocket-Protocol"
SUBPROTOCOL = "mqtt"
NORMAL_CLOSURE = (1000).to_bytes(2, "big")
MOST_REPLIES = 16
"""Replies that wait for a frame under way; of more PINGs, the last are answered (RFC 6455, 5.5.3)."""
MOST_ANSWER_BYTES = 1 << 16
"""Bytes that the answer to the upgrade may have."""
MASKED = 0x80
KEY_SIZE = 4
PIECE = 1 << 16
"""Bytes that are masked at a time, a multiple of the key's."""


class RecordingSocket:
    """A socket that during the upgrade records the answer, within the deadline."""

    def __init__(self, sock: Any, until_s: float) -> None:
        self.sock = sock
        self.until_s: float | None = until_s
        self.answer = bytearray()

    def recv(self, count: int) -> bytes:
        """Return the next bytes; raises ValueError for an answer to the upgrade that does not end."""
        if self.until_s is not None:
            self.sock.settimeout(left(self.until_s))
        data: bytes = self.sock.recv(count)
        if self.until_s is not None:
            self.answer += data
            if len(self.answer) > MOST_ANSWER_BYTES:
                raise ValueError(f"its head has more than {MOST_ANSWER_BYTES} bytes")
        return data

    def send(self, data: bytes | bytearray) -> int:
        """Send what the socket takes, and return how many bytes."""
        return int(self.sock.send(data)) if data else 0


class WebSocket(_WebsocketWrapper):
    """A socket that carries bytes in binary frames.

    Only the upgrade and the head of a frame are paho's. PONG and CLOSE are never sent between the parts of another
    frame, and masking a frame takes linear time.
    """

    parting_bytes = 128
    """At least as many as CLOSE has with a TLS record around it: they may be on their way when the peer closes."""

    def __init__(self, line: RecordingSocket, target: Target) -> None:
        transport = target.transport
        host = f"[{target.host}]" if ":" in target.host else target.host
        self.line = line
        self._reader = FrameReader(target.version)
        self._replies: deque[bytearray] = deque(maxlen=MOST_REPLIES)
        self._reply_under_way = bytearray()
        self._closing = False
        super().__init__(
            line, host, target.port, transport.tls is not None, transport.path,  # type: ignore[arg-type]
            lambda headers: merged(headers, transport.headers),
        )  # fmt: skip
        line.until_s = None

    def _create_frame(self, opcode: int, data: Any, do_masking: int = 1) -> bytearray:
        """Return a masked frame; replies are kept until no frame is being sent."""
        frame = masked(super()._create_frame(opcode, bytearray(data), 0), len(data))
        if opcode < CLOSE:
            return frame
        if not self._closing:
            self._replies.append(frame)
        self._closing |= opcode == CLOSE
        return bytearray()

    def _reply(self) -> bool:
        """Send the replies that wait; return whether another frame may be sent."""
        try:
            while not self._sendbuffer and (self._reply_under_way or self._replies):
                self._reply_under_way = self._reply_under_way or self._replies.popleft()
                del self._reply_under_way[: self.line.send(self._reply_under_way)]
        except OSError as error:
            if not again(error):
                raise
        return bool(self._sendbuffer) or not (self._reply_under_way or self._replies)

    def send(self, data: bytes | bytearray) -> int:
        """Send bytes as one frame; the same bytes must be given again until it is sent."""
        if not self._reply():
            raise BlockingIOError
        if not self._sendbuffer:
            self._sendbuffer = self._create_frame(BINARY, data)
            self._requested_size = len(data)
        while self._sendbuffer:
            del self._sendbuffer[: self.line.send(self._sendbuffer)]
        self._reply()
        return self._requested_size

    def recv(self, length: int) -> bytes:
        """Return the next bytes of messages; none at the end.

        Raises NoPayload where there were none among those that came, PeerFault where the server breaks the framing.
        """
        reader = self._reader
        data = b"" if reader.fault else self._received(length)
        if reader.fault and not data:
            raise PeerFault(f"the broker sent {reader.fault}", reader.fault.data, 0)
        return data

    def _received(self, length: int) -> bytes:
        """Read once, and answer the control frames among what came."""
        with suppress(OSError):
            self._reply()
        try:
            came = self.line.recv(length)
        except ConnectionError:
            came = b""
        if not came:
            return came
        data = self._reader.feed(came)
        for opcode, payload in self._reader.controls:
            if opcode in (CLOSE, PING):
                self._create_frame(CLOSE if opcode == CLOSE else PONG, payload)
        self._reader.controls.clear()
        if self._reader.fault:
            self._create_frame(CLOSE, PROTOCOL_ERROR.to_bytes(2, "big"))
        with suppress(OSError):
            self._reply()
        if not data and not self._reader.fault:
            raise NoPayload
        return data

    def shutdown(self, how: int) -> None:
        """Send CLOSE; the other side answers it by closing. `how` is ignored."""
        self._create_frame(CLOSE, NORMAL_CLOSURE)
        self._reply()

    def setblocking(self, flag: bool) -> None:
        """Make the socket below blocking or not."""
        self.line.sock.setblocking(flag)

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return int(self.line.sock.fileno())

    def close(self) -> None:
        """Close the socket below."""
        self.line.sock.close()


def masked(frame: bytearray, size: int) -> bytearray:
    """Return a frame with its `size` bytes of payload masked."""
    head = len(frame) - size
    key = os.urandom(KEY_SIZE)
    for start in range(head, len(frame), PIECE):
        piece = frame[start : start + PIECE]
        pad = (key * (PIECE // KEY_SIZE))[: len(piece)]
        plain = int.from_bytes(piece, "big") ^ int.from_bytes(pad, "big")
        frame[start : start + PIECE] = plain.to_bytes(len(piece), "big")
    frame[1] |= MASKED
    frame[head:head] = key
    return frame


def merged(headers: dict[str, str], more: tuple[tuple[str, str], ...]) -> Any:
    """Return paho's headers and those of the user, which replace paho's of the same name."""
    named = {name.lower() for name, _ in more}
    rows = [(name, value) for name, value in headers.items() if name.lower() not in named]
    return HeaderRows([*rows, *more])


class HeaderRows(list[tuple[str, str]]):
    """Header lines; a name may be repeated."""

    def items(self) -> list[tuple[str, str]]:
        """Return the lines, as a dict would."""
        return self


# the upgrade


def check(target: Target) -> None:
    """Raise Unusable for a host, a path or a header that would change the rest of the request."""
    transport = target.transport
    part = "host"
    try:
        check_host(target.host)
        part = "path"
        check_path(transport.path)
        part = "headers"
        for name, value in transport.headers:
            check_header(name, value)
    except ValueError as error:
        raise Unusable(f"{part} of the WebSocket: {error}", part) from None


def upgrade(sock: Any, target: Target, until_s: float, timeout_s: float) -> WebSocket:
    """Return a WebSocket on a connected socket; raises NotConnected."""
    line = RecordingSocket(sock, until_s)
    try:
        made = WebSocket(line, target)
        _check(line.answer, target)
    except (OSError, ValueError, IndexError) as error:
        sock.close()
        raise NotConnected(_why(error, line.answer, target, timeout_s)) from error
    return made


def _check(answer: bytes | bytearray, target: Target) -> None:
    """Check what paho does not check; raises ValueError."""
    status, headers = parsed(answer)
    if not status.startswith("101"):
        raise ValueError("no 101 Switching Protocols")
    ours = {name.lower(): value for name, value in target.transport.headers}
    asked = ours.get(HEADER.lower(), SUBPROTOCOL)
    given = headers.get(HEADER.lower(), asked)
    if given not in asked.replace(",", " ").split():
        raise ValueError(f"subprotocol '{given}' where '{asked}' was asked for")


def parsed(answer: bytes | bytearray) -> tuple[str, dict[str, str]]:
    """Return the status of an HTTP answer, and its headers under lower-case names."""
    first, *lines = answer.decode("latin-1").split("\r\n")
    rows = (line.partition(":") for line in lines)
    return first.partition(" ")[2], {name.strip().lower(): value.strip() for name, _, value in rows}


def _why(error: Exception, answer: bytes | bytearray, target: Target, timeout_s: float) -> str:
    place = target.place
    if isinstance(error, TimeoutError):
        return f"no answer to the WebSocket upgrade from {place} within {timeout_s:g} s"
    if not answer:
        return f"{place} closed the connection at the WebSocket upgrade"
    if not answer.startswith(b"HTTP/"):
        return f"{place} {speaks(answer) or 'does not speak HTTP'}"
    status = parsed(answer)[0]
    if status.startswith("101"):
        return f"{place} answered the WebSocket upgrade wrongly: {error}"
    return f"{place} refused the WebSocket upgrade: {status}"


def describe(answer: bytes | bytearray, path: str) -> str:
    """Return a line with the request and the answer."""
    status, headers = parsed(answer)
    chosen = headers.get(HEADER.lower())
    return f"WebSocket: GET {shown_path(path)} -> {status}, {f'subprotocol {chosen}' if chosen else 'no subprotocol'}"

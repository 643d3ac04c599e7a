"""WebSocket: paho's framing on a socket that records the answer to the upgrade.

The framing is a private class of paho, so that --ws needs nothing but the core dependencies; tests/live/net/
test_websocket.py fails where a new paho changes it."""

import os
from contextlib import suppress
from typing import Any

from paho.mqtt.client import _WebsocketWrapper

from ..failures import NotConnected, Unusable
from ..tap import again
from .deadline import left
from .errors import speaks
from .target import Target
from .urls import check_header, check_host, check_path, shown_path

HEADER = "Sec-WebSocket-Protocol"
SUBPROTOCOL = "mqtt"
BINARY, CLOSE = 2, 8
NORMAL_CLOSURE = (1000).to_bytes(2, "big")
MASKED = 0x80
KEY_SIZE = 4
PIECE = 1 << 16
"""Bytes that are masked at a time, a multiple of the key's."""


class RecordingSocket:
    """A socket that notes whether it has run dry, and during the upgrade records the answer within the deadline."""

    def __init__(self, sock: Any, until_s: float) -> None:
        self.sock = sock
        self.until_s: float | None = until_s
        self.dry = False
        self.answer = bytearray()

    def recv(self, count: int) -> bytes:
        """Return the next bytes; afterwards `dry` says whether nothing is left to read."""
        if self.until_s is not None:
            self.sock.settimeout(left(self.until_s))
        try:
            data: bytes = self.sock.recv(count)
        except OSError as error:
            self.dry = again(error)
            raise
        self.dry = False
        if self.until_s is not None:
            self.answer += data
        return data

    def send(self, data: bytes | bytearray) -> int:
        """Send what the socket takes, and return how many bytes."""
        return int(self.sock.send(data)) if data else 0


class WebSocket(_WebsocketWrapper):
    """A socket that carries bytes in binary frames.

    It corrects paho's: PONG and CLOSE are masked and are never sent between the parts of another
    frame, an empty frame does not hide the next one, and masking a frame takes linear time.
    """

    def __init__(self, line: RecordingSocket, target: Target) -> None:
        transport = target.transport
        host = f"[{target.host}]" if ":" in target.host else target.host
        self.line = line
        self._replies = bytearray()
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
            self._replies += frame
        self._closing |= opcode == CLOSE
        return bytearray()

    def _reply(self) -> bool:
        """Send the replies that wait; return whether all are sent."""
        try:
            while self._replies and not self._sendbuffer:
                del self._replies[: self.line.send(self._replies)]
        except OSError as error:
            if not again(error):
                raise
        return not self._replies or bool(self._sendbuffer)

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
        """Return the next bytes; raises BlockingIOError only when nothing is left to read."""
        while True:
            with suppress(OSError):
                self._reply()
            try:
                return super().recv(length)
            except BlockingIOError:
                if self.line.dry:
                    raise

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

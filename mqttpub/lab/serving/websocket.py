"""The server's end of a WebSocket (RFC 6455), as a socket whose bytes travel in binary frames."""

import base64
import binascii
import hashlib
from contextlib import suppress
from typing import Any

from ...capture.protocol.http_upgrade import LONGEST_HEAD, PROTOCOL, HttpHead, head
from ...capture.protocol.websocket import (
    BINARY,
    CLOSE,
    EIGHT_BYTES,
    FIN,
    OPCODE,
    PING,
    PONG,
    TEXT,
    TWO_BYTES,
    WebSocketError,
    WebSocketFrames,
)
from ...common.escape import escape
from .ending import end_writing

PIECE = 1 << 16
"""Bytes of payload in one frame, at most."""
SUBPROTOCOLS = ("mqtt", "mqttv3.1")
"""The registered name (MQTT5-6.0.0-3), and the one that clients of MQTT 3.1 use."""
VERSION = "13"
NORMAL, PROTOCOL_ERROR, UNACCEPTABLE = 1000, 1002, 1003
"""Close codes (section 7.4.1)."""
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_KEY_SIZE = 16
_MOST_SHOWN = 60


def frame(opcode: int, payload: bytes = b"") -> bytes:
    """Return a frame of a server, which is not masked (section 5.2)."""
    size, first = len(payload), opcode | FIN
    if size < TWO_BYTES:
        return bytes((first, size)) + payload
    if size <= 0xFFFF:
        return bytes((first, TWO_BYTES)) + size.to_bytes(2, "big") + payload
    return bytes((first, EIGHT_BYTES)) + size.to_bytes(8, "big") + payload


def accept_key(key: str) -> str:
    """Return the Sec-WebSocket-Accept for a Sec-WebSocket-Key (section 4.2.2)."""
    return base64.b64encode(hashlib.sha1(key.encode("latin-1") + _GUID, usedforsecurity=False).digest()).decode()


class BrokenWebSocket(ConnectionError):
    """A client that breaks RFC 6455; the text says how."""

    def __init__(self, message: str, data: bytes = b"") -> None:
        super().__init__(message)
        self.data = data
        """The beginning of the frame that does."""


class ServerWebSocket:
    """A socket above another one: it answers the upgrade when it is first read from, and then PING and CLOSE.

    Like the socket of TLS, it may have to be given the same bytes again after BlockingIOError, before others. It keeps
    the head of the request (LONGEST_HEAD bytes at most), one frame that is being written, and the last PONG and CLOSE;
    payload is passed on as it comes, however long its frame is.
    """

    def __init__(self, sock: Any, begun: bytes = b"", *, opcode: int = BINARY, is_strict: bool = True) -> None:
        self.sock = sock
        self.subprotocol = ""
        """What it has chosen of what the client offers; one that offers none of MQTT is refused if it is strict."""
        self.fault: BrokenWebSocket | None = None
        """What the client broke, once what came before it was read."""
        self._begun = begun
        """What was read of the socket before."""
        self._opcode = opcode
        self._is_strict = is_strict
        self._head: bytearray | None = bytearray()
        """The request, while it is not answered."""
        self._rest = b""
        """What came with it and is not read."""
        self._frames = _ClientFrames(self)
        self._sending = b""
        """The rest of the frame, or of the answer to the upgrade, that is being written."""
        self._taken = 0
        """Bytes of the caller in it."""
        self._pong = b""
        self._close = b""
        self._said_close = False

    # reading

    def recv(self, count: int) -> bytes:
        """Return what came in binary frames; nothing at the end, which is also that of CLOSE.

        Reads once from the socket below, so that a peer that sends nothing but PING holds nobody up. Raises
        BlockingIOError where that brought no payload, and BrokenWebSocket, having told the client.
        """
        self.do_handshake()
        if self.fault:
            raise self.fault
        if self._frames.are_over():
            return b""
        data, self._rest = self._rest or self.sock.recv(count), b""
        if not data:
            return b""
        payload = bytearray()
        try:
            for piece in self._frames.feed(data):
                payload += piece
        except WebSocketError as error:
            self.fault = self._told(error)
            if not payload:
                raise self.fault from None
        self._reply()
        if not payload and not self._frames.are_over():
            raise BlockingIOError
        if self.fault or self._frames.are_over():
            self._close_below()
        return bytes(payload)

    def _close_below(self) -> None:
        """Close the sending side of TCP after CLOSE: a client waits for the server to do so (section 7.1.1)."""
        if not self.unsent:
            with suppress(OSError):
                end_writing(self.sock)

    def do_handshake(self) -> None:
        """Answer the upgrade once it is whole.

        Raises BlockingIOError while it is not, and BrokenWebSocket for what is none, having told the client.
        """
        while self._head is not None:
            data, self._begun = self._begun or self.sock.recv(PIECE), b""
            if not data:
                raise BrokenWebSocket("the client closed the connection before the WebSocket upgrade")
            self._upgrade(self._head, data)

    def _upgrade(self, request: bytearray, data: bytes) -> None:
        searched = len(request)
        request += data
        asked = head(request, searched)
        if asked is None:
            if len(request) > LONGEST_HEAD:
                self._refuse("431 Request Header Fields Too Large", f"more than {LONGEST_HEAD} bytes of HTTP headers")
            return
        if why := _wrong(asked):
            self._refuse(*why)
        offered = _listed(asked, PROTOCOL)
        self.subprotocol = next((each for each in SUBPROTOCOLS if each in offered), "")
        if self._is_strict and not self.subprotocol:
            self._refuse("400 Bad Request", f"Sec-WebSocket-Protocol does not offer {SUBPROTOCOLS[0]} (MQTT5-6.0.0-3)")
        self._head = None
        chosen = {"Sec_WebSocket_Protocol": self.subprotocol} if self.subprotocol else {}
        self._sending = _answer(
            "101 Switching Protocols", Upgrade="websocket", Connection="Upgrade",
            Sec_WebSocket_Accept=accept_key(asked.headers["sec-websocket-key"]), **chosen,
        )  # fmt: skip
        self._rest = bytes(request[asked.size :])
        self._reply()

    def _refuse(self, status: str, why: str) -> None:
        """Answer that the request is refused; raises BrokenWebSocket."""
        body = f"{why}\n".encode()
        more = {"Sec_WebSocket_Version": VERSION} if status.startswith("426") else {}
        self._sending = (
            _answer(status, Connection="close", Content_Type="text/plain", Content_Length=str(len(body)), **more) + body
        )
        self._reply()
        raise BrokenWebSocket(f"the WebSocket upgrade was refused: {why}")

    def _told(self, error: WebSocketError) -> BrokenWebSocket:
        """Tell the client that it broke the protocol (section 7.1.7)."""
        header = self._frames.stop()
        is_text = header and header[0] & OPCODE == TEXT
        self._queue_close(UNACCEPTABLE if is_text else PROTOCOL_ERROR)
        self._reply()
        return BrokenWebSocket(error.message, bytes(header))

    def answer(self, opcode: int, payload: bytes) -> None:
        """Answer a control frame (sections 5.5.1 and 5.5.2): of several PINGs, the last one."""
        if opcode == PING:
            self._pong = frame(PONG, payload)
        elif opcode == CLOSE:
            self._queue_close(int.from_bytes(payload[:2], "big"))

    def _queue_close(self, code: int) -> None:
        if not self._said_close:
            self._said_close = True
            self._close = frame(CLOSE, code.to_bytes(2, "big") if code else b"")

    # writing

    @property
    def unsent(self) -> bool:
        """Whether something of its own waits for the socket, besides what the caller has to give again."""
        return bool(self._pong or self._close or (self._sending and not self._taken))

    def _reply(self) -> None:
        """Send what waits, as far as the socket takes it."""
        with suppress(OSError):
            self._flush()

    def _flush(self) -> None:
        """Send the frame under way and then the replies; raises BlockingIOError if the socket does not take all."""
        while True:
            while self._sending:
                self._sending = self._sending[self.sock.send(self._sending) :]
            self._sending, self._pong = self._pong, b""
            if not self._sending:
                self._sending, self._close = self._close, b""
            if not self._sending:
                return

    def send(self, data: bytes | bytearray) -> int:
        """Send bytes as one frame of PIECE bytes at most; return how many, once they are all sent.

        Without bytes, only replies are sent. Raises BlockingIOError, and BrokenPipeError after CLOSE.
        """
        self._flush()
        if not self._taken and data:
            if self._said_close:
                raise BrokenPipeError("the WebSocket is closed")
            piece = bytes(data[:PIECE])
            self._sending, self._taken = frame(self._opcode, piece), len(piece)
            self._flush()
        sent, self._taken = self._taken, 0
        self._reply()
        return sent

    def shutdown(self, how: int) -> None:
        """Send CLOSE; the other side answers it. `how` is ignored."""
        self._queue_close(NORMAL)
        self._reply()

    # the socket below

    @property
    def family(self) -> int:
        """Address family of the socket below."""
        return int(self.sock.family)

    def getpeername(self) -> Any:
        """Return the address of the peer; raises OSError once the connection has ended."""
        return self.sock.getpeername()

    def setsockopt(self, *option: Any) -> None:
        """Set an option of the socket below."""
        self.sock.setsockopt(*option)

    def setblocking(self, flag: bool) -> None:
        """Make the socket below blocking or not."""
        self.sock.setblocking(flag)

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return int(self.sock.fileno())

    def close(self) -> None:
        """Close the socket below."""
        self.sock.close()


class _ClientFrames(WebSocketFrames):
    """The frames of a client, held to what a server must refuse (section 5)."""

    def __init__(self, owner: ServerWebSocket) -> None:
        super().__init__(masked=True)
        self._owner = owner
        self._over = False

    def are_over(self) -> bool:
        """Whether the client has sent CLOSE."""
        return self._over

    def wrongly_masked(self) -> None:
        """Refuse the frame (section 5.1)."""
        raise WebSocketError("WebSocket frames of the client are not masked (RFC 6455, section 5.1)")

    def control(self, opcode: int, payload: bytes) -> None:
        """Have the frame answered."""
        if opcode == CLOSE and not _may_close(payload):
            raise WebSocketError(f"WebSocket CLOSE with a wrong body, {payload[:8].hex(' ')} (RFC 6455, section 5.5.1)")
        super().control(opcode, payload)
        self._over |= opcode == CLOSE
        self._owner.answer(opcode, payload)


def _may_close(payload: bytes) -> bool:
    """Whether the body of CLOSE is empty, or a code that may be sent and a reason in UTF-8 (section 7.4)."""
    if not payload:
        return True
    code = int.from_bytes(payload[:2], "big")
    try:
        payload[2:].decode()
    except UnicodeDecodeError:
        return False
    return len(payload) > 1 and ((1000 <= code <= 1014 and code not in (1004, 1005, 1006)) or 3000 <= code <= 4999)


# the upgrade


def _answer(status: str, **headers: str) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def _listed(asked: HttpHead, name: str) -> list[str]:
    return [each.strip() for each in asked.headers.get(name, "").split(",")]


def _wrong(asked: HttpHead) -> tuple[str, str] | None:
    """Return status and sentence for a request that is not an upgrade to MQTT (section 4.2.1); else None."""
    bad = "400 Bad Request"
    if len(asked.first) != 3 or asked.first[0] != "GET" or not asked.first[2].startswith("HTTP/"):
        return bad, f"{_shown(' '.join(asked.first))} is not a GET request"
    if asked.first[2] in ("HTTP/1.0", "HTTP/0.9"):
        return bad, f"{_shown(asked.first[2])} has no upgrade"
    if not asked.headers.get("host"):
        return bad, "Host is missing"
    for name, wanted in (("Upgrade", "websocket"), ("Connection", "upgrade")):
        if wanted not in [each.lower() for each in _listed(asked, name.lower())]:
            return bad, f"{name} is not {wanted}"
    if (version := asked.headers.get("sec-websocket-version", "")) != VERSION:
        return "426 Upgrade Required", f"Sec-WebSocket-Version is {_shown(version)}, but must be {VERSION}"
    if not _is_key(asked.headers.get("sec-websocket-key", "")):
        return bad, "Sec-WebSocket-Key is not 16 bytes in base64"
    return None


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == _KEY_SIZE
    except (binascii.Error, ValueError):
        return False


def _shown(text: str) -> str:
    return f"'{escape(text[:_MOST_SHOWN])}'"

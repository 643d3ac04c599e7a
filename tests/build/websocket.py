"""WebSocket connections built from bytes: an upgrade, and frames right or wrong."""

import zlib
from collections.abc import Iterable

from mqttpub.capture.types import Chunk, End, Flow, Piece
from tests.fuzz.built import MILLISECOND, Step

FLOW = Flow(1, ("10.0.0.1:50000", "10.0.0.2:9001"), (50000, 9001), True)
OPCODES = (2, 0, 8, 9, 10, 1, 2, 3)
KEY = b"\x01\x80\xff\x5a"
DEFLATE = (
    "", "permessage-deflate", "permessage-deflate; client_no_context_takeover; server_no_context_takeover",
    "x-unknown; a=b",
)  # fmt: skip


def frame(payload: bytes, opcode: int = 2, *, fin: bool = True, rsv: int = 0, masked: bool = True) -> bytes:
    """Return a frame, whose length field is the least."""
    size, mask = len(payload), 0x80 if masked else 0
    head = bytes((opcode | rsv | (0x80 if fin else 0),))
    if size < 126:
        head += bytes((size | mask,))
    else:
        head += (
            bytes((126 | mask,)) + size.to_bytes(2, "big")
            if size < 65536
            else bytes((127 | mask,)) + size.to_bytes(8, "big")
        )
    if not masked:
        return head + payload
    return head + KEY + bytes(byte ^ KEY[at % 4] for at, byte in enumerate(payload))


def request(protocol: str = "mqtt", extensions: str = "") -> bytes:
    """Return what a client asks."""
    lines = ["GET /mqtt HTTP/1.1", "Host: b", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []
    lines += [f"Sec-WebSocket-Extensions: {extensions}"] if extensions else []
    return "\r\n".join([*lines, "", ""]).encode()


def answer(protocol: str = "mqtt", extensions: str = "") -> bytes:
    """Return what a server answers."""
    return request(protocol, extensions).replace(b"GET /mqtt HTTP/1.1", b"HTTP/1.1 101 Switching Protocols", 1)


def upgraded(choice: int, extra: tuple[bytes, bytes], steps: Iterable[Step]) -> list[Piece]:
    """Return the pieces of a connection whose frames are steps, with bytes of any kind among them.

    `extra` goes into the request and after the answer where the choice says so.
    """
    protocol, extensions = "mqtt" if choice & 1 else "", DEFLATE[choice >> 1 & 3]
    asked, answered = request(protocol, extensions), answer(protocol, extensions)
    if choice & 8:
        asked = asked.replace(b"mqtt HTTP", extra[0].replace(b" ", b"") + b" HTTP", 1)
        answered += extra[1]
    made: list[Piece] = [Chunk(FLOW, 0, 0, 1, asked), Chunk(FLOW, 1, MILLISECOND, 2, answered)]
    for record, (picked, data) in enumerate(steps, 3):
        side, opcode = picked & 1, OPCODES[picked >> 1 & 7]
        rsv, fin = (0x40 if picked & 0x10 else 0), not picked & 0x20
        if rsv and not picked & 0x40:
            packer = zlib.compressobj(wbits=-15)
            data = (packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)).removesuffix(b"\0\0\xff\xff")
        written = data if picked & 0x80 else frame(data, opcode, fin=fin, rsv=rsv, masked=not side)
        if written:
            made.append(Chunk(FLOW, side, record * MILLISECOND, record, written))
    last = len(made) + 1
    return [*made, End(FLOW, None, last * MILLISECOND, last, "end")]

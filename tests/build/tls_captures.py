"""TLS between two ends in memory, as a capture file, with the keys to read it."""

import ssl
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mqttpub.spec.versions import Direction
from tests.build.certificates import Authority
from tests.build.frames import ACK, FIN, Wire, pcap, records

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
SIDES = {CLIENT: 0, SERVER: 1}
NAME = "localhost"


class Captured(NamedTuple):
    """A capture file and the key log to read it with."""

    path: Path
    keylog: Path


class TlsScript:
    """Two ends that have shaken hands; what they say goes through TLS into segments."""

    def __init__(self, folder: Path, ca: Authority, *, alpn: str = "", maximum: str = "TLSv1_3") -> None:
        self.folder = folder
        self.keylog = folder / "keys.log"
        self.segments: list[tuple[Direction, bytes]] = []
        server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        server.load_cert_chain(*ca.signed("secured"))
        client.load_verify_locations(ca.cert)
        client.keylog_filename = str(self.keylog)
        client.maximum_version = ssl.TLSVersion[maximum]
        for context in (server, client) if alpn else ():
            context.set_alpn_protocols([alpn])
        self.incoming = {end: ssl.MemoryBIO() for end in Direction}
        self.outgoing = {end: ssl.MemoryBIO() for end in Direction}
        self.ends = {
            CLIENT: client.wrap_bio(self.incoming[CLIENT], self.outgoing[CLIENT], server_hostname=NAME),
            SERVER: server.wrap_bio(self.incoming[SERVER], self.outgoing[SERVER], server_side=True),
        }
        for _ in range(3):
            for end in Direction:
                with suppress(ssl.SSLWantReadError):
                    self.ends[end].do_handshake()
                self._sent(end)

    def say(self, end: Direction, *parts: bytes) -> "TlsScript":
        """Say something: each part is a TLS record of its own, all of them are one segment."""
        for part in parts:
            self.ends[end].write(part)
        self._sent(end)
        return self

    def written(self, *, size: int = 60_000) -> Captured:
        """Write the capture, in segments of so many bytes at most."""
        path = self.folder / "capture.pcap"
        path.write_bytes(pcap(records(self.packets(size))))
        return Captured(path, self.keylog)

    def _sent(self, end: Direction) -> None:
        data = self.outgoing[end].read()
        if data:
            self.segments.append((end, data))
            self.incoming[SERVER if end is CLIENT else CLIENT].write(data)

    def packets(self, size: int) -> Iterable[bytes]:
        """Yield the IP packets of the connection, in segments of so many bytes at most."""
        wire, at = Wire(), [0, 0]
        yield from wire.opening()
        for end, data in self.segments:
            side = SIDES[end]
            for start in range(0, len(data), size):
                part = data[start : start + size]
                yield wire.packet(side, at[side], part, ack=at[1 - side])
                at[side] += len(part)
        for side in (0, 1):
            yield wire.packet(side, at[side], flags=FIN | ACK, ack=at[1 - side])

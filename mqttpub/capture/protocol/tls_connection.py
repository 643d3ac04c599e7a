"""Connections on TLS, whose content comes decrypted from elsewhere, if at all."""

from collections.abc import Iterable

from ...traffic.events import Event
from ..types import Chunk, End, Flow, Missing, Unreadable
from .detect import Opening
from .handler import DemuxSettings, HandlerSlot

MOST_NAMES = 100
"""Servers on TLS that remarks name, at most."""


class TlsConnection:
    """Handles a connection on TLS; `carried` handles the bytes inside, as far as they are decrypted."""

    def __init__(self, flow: Flow, settings: DemuxSettings, carried: HandlerSlot) -> None:
        self.flow = flow
        self.settings = settings
        self.carried = carried
        self.is_decrypted = False
        """Whether any decrypted bytes have come."""
        self.size = 0
        """Encrypted bytes so far."""
        settings.skipped.add(Opening.TLS.value, 0, connections=1)

    def decrypted(self, source: str, time_ns: int | None, record: int, data: bytes) -> Iterable[Event]:
        """Return the events of the next bytes that an end sent within TLS; `source` is its address and port."""
        if not self.is_decrypted:
            self.is_decrypted = True
            self.settings.skipped.add(Opening.TLS.value, -self.size, connections=-1)
        return self.carried.feed(Chunk(self.flow, self.flow.ends.index(source), time_ns, record, data))

    def chunk(self, chunk: Chunk) -> Iterable[Event]:
        """Count bytes that cannot be read."""
        if not self.is_decrypted:
            self.size += len(chunk.data)
            self.settings.skipped.add(Opening.TLS.value, len(chunk.data))
        return ()

    def missing(self, missing: Missing) -> Iterable[Event]:
        """Give the side up, because nothing that follows can be decrypted."""
        text = f"{missing.message}, and TLS cannot be read without them"
        return self.unreadable(Unreadable(self.flow, missing.side, missing.time_ns, missing.record, text, b"", False))

    def unreadable(self, unreadable: Unreadable) -> Iterable[Event]:
        """Give up the rest of a side."""
        return self.carried.feed(unreadable) if self.is_decrypted else ()

    def end(self, end: End) -> Iterable[Event]:
        """Handle the end of one side or of both."""
        return self.carried.feed(end) if self.is_decrypted else ()


class TlsConnections:
    """The open connections on TLS, by their ends, and the servers that a remark has named."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], TlsConnection] = {}
        self._named: set[str] = set()
        self.keys = False
        """Whether there are keys, so that decrypted bytes will come."""

    def add(self, connection: TlsConnection) -> None:
        """Add a connection, in place of an earlier one with the same ends."""
        self._open[connection.flow.ends] = connection

    def find(self, source: str, target: str) -> TlsConnection | None:
        """Return the connection between two ends."""
        return self._open.get((source, target)) or self._open.get((target, source))

    def forget(self, flow: Flow) -> None:
        """Forget a connection that has ended."""
        connection = self._open.get(flow.ends)
        if connection and connection.flow.number == flow.number:
            del self._open[flow.ends]

    def is_new(self, server: str) -> bool:
        """Whether a remark should name a server: once each, and not too many of them."""
        new = server not in self._named and len(self._named) < MOST_NAMES
        if new:
            self._named.add(server)
        return new

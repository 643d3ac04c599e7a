"""A capture file as the events of its MQTT connections."""

import os
import stat
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, BinaryIO

from ..codec.stream import MAX_PACKET
from ..spec.versions import Version
from ..traffic.events import Event
from .containers.registry import RecordReader
from .network.tcp import MAX_FLOWS, Reassembler
from .protocol.demux import MqttDemux
from .protocol.handler import SkippedConnections
from .types import BadCapture, End, NoKeys, Piece

if TYPE_CHECKING:
    from pathlib import Path

    from .protocol.tls import Decrypted

# Modules that few captures need are loaded on use: `pathlib` and those of keys and copies take 6 ms.


def events(
    file: BinaryIO, *, ports: Iterable[int] = (), version: Version | None = None, keylog: "Path | None" = None
) -> Iterator[Event]:
    """Yield the events of a capture; see CaptureEvents."""
    return CaptureEvents(file, ports=ports, version=version, keylog=keylog).events()


class CaptureEvents:
    """Reads a capture once, from a file or a pipe.

    On `ports`, everything that is not another known protocol is MQTT; `version` is for connections without a CONNECT.
    With `keylog`, or with keys in the capture itself, tshark decrypts TLS. Of more than `max_connections` TCP
    connections the one that was idle longest ends.
    """

    def __init__(
        self, file: BinaryIO, *, ports: Iterable[int] = (), version: Version | None = None,
        keylog: "Path | None" = None, max_packet: int = MAX_PACKET, max_connections: int = MAX_FLOWS,
    ) -> None:  # fmt: skip
        self.reassembler = Reassembler(max_flows=max_connections)
        self.demux = MqttDemux(ports=ports, version=version, max_packet=max_packet)
        self.problems: list[str] = []
        """Why TLS could not be read, as sentences."""
        self._file = file
        self._keylog = keylog
        self._reader: RecordReader | None = None
        self._keys: Generator[Decrypted, None, None] | None = None
        self._next: Decrypted | None = None

    @property
    def position(self) -> int:
        """The number of bytes of the file that were read."""
        return self._reader.position if self._reader else 0

    @property
    def skipped(self) -> SkippedConnections:
        """The connections so far that are not MQTT."""
        return self.demux.skipped

    def events(self) -> Iterator[Event]:
        """Yield events in the order of the records that complete them.

        Raises BadCapture for a damaged file, after the events of all records that can be read, and NoKeys at once for
        a key log that cannot be used.
        """
        with ExitStack() as stack:
            if self._keylog is not None:
                self._file = stack.enter_context(on_disk(self._file))
                self._use_keys(stack)
            broken: BadCapture | None = None
            try:
                yield from self._records(stack)
            except BadCapture as error:
                broken = error
            for piece in self.reassembler.finish():
                yield from self.demux.feed(piece)
            yield from self.demux.finish()
            if broken:
                raise broken

    def _records(self, stack: ExitStack) -> Iterator[Event]:
        self._reader = RecordReader(self._file)
        records, secrets = iter(self._reader), self._reader.secrets
        reassemble, understand = self.reassembler.feed, self.demux.feed
        if self._keys is None:
            for record in records:
                for piece in reassemble(record):
                    yield from understand(piece)
                if secrets:
                    self._use_embedded(stack)
                    break
        for record in records:
            yield from self._with_keys(record.number, reassemble(record))

    def _with_keys(self, number: int, pieces: Iterable[Piece]) -> Iterator[Event]:
        """Yield the events of one record; those within TLS come before the end of their connection."""
        for piece in pieces:
            if type(piece) is End:
                yield from self._decrypted(number)
            yield from self.demux.feed(piece)
        yield from self._decrypted(number)

    def _decrypted(self, number: int) -> Iterator[Event]:
        """Yield the events within TLS up to a record."""
        while self._keys:
            try:
                found = self._next or next(self._keys, None)
            except NoKeys as error:
                self.problems.append(str(error))
                found = None
            self._next = found
            if found is None:
                self._keys = None
            elif found.record > number:
                return
            else:
                self._next = None
                yield from self.demux.decrypted(found.source, found.target, found.time_ns, found.record, found.data)

    def _use_keys(self, stack: ExitStack) -> None:
        """Start to decrypt TLS; raises NoKeys."""
        from pathlib import Path

        from .protocol.tls import decrypted

        self._keys = stack.enter_context(closing(decrypted(Path(self._file.name), self._keylog)))
        self.demux.expect_keys()

    def _use_embedded(self, stack: ExitStack) -> None:
        """Start to decrypt TLS with the keys in the capture."""
        try:
            if not _is_regular(self._file):
                raise NoKeys("the capture holds keys for TLS, which are used only when it is read from a file")
            self._use_keys(stack)
        except NoKeys as error:
            self.problems.append(str(error))


def _is_regular(file: BinaryIO) -> bool:
    """Whether another program can open the same file by its name."""
    try:
        here = os.fstat(file.fileno())
        return stat.S_ISREG(here.st_mode) and os.path.samestat(here, os.stat(file.name))
    except (OSError, AttributeError, TypeError, ValueError):
        return False


@contextmanager
def on_disk(file: BinaryIO, *, grows: bool = False) -> Iterator[BinaryIO]:
    """Give the file, or a copy if it is none that another program can read by its name, or still grows."""
    if _is_regular(file) and not grows:
        yield file
        return
    from ..common.files import lent

    with lent(file, "capture") as path, open(path, "rb") as copy:
        yield copy

"""Messages on disk between a broker, which forgets acknowledged messages, and Spark, which may read them again.

A spool is a folder of segments, files named after the position at which they begin. A segment holds
records: a header with length and checksum, then bytes. A position counts the bytes of all segments
ever written, so that it stays valid after a restart, and is Spark's offset. Each segment begins with
the state of deliveries before it, so that a start reads only the last one. One PUBLISH is one record,
whose bytes are those of the packet. On an object store, to whose objects nothing can be appended, each
flush is a segment.
"""

import json
import os
import secrets
import struct
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ...common.system import lock
from ..storage.files import open_file
from ..storage.folder import StorageFolder
from ..storage.objects import ObjectChanged
from .deliveries import Deliveries, message_key
from .errors import SpoolError

SUFFIX, FACTS = ".spool", "facts.json"
SEGMENT = 64 << 20
"""Bytes after which a new segment begins."""
HEAD = struct.Struct("<IIqB")
"""Length of the data, CRC-32 of all that follows the checksum, nanoseconds since 1970, kind."""
_CHECKED = struct.Struct("<qB")
MESSAGE, RELEASE, SESSION, STATE = range(4)
"""Kinds: a PUBLISH; the Packet Identifier of a PUBREL; a new session; the deliveries before a segment."""
_IDENTIFIER = struct.Struct("<H")
CHUNK = 1 << 20


class SpoolRecord(NamedTuple):
    """One record of a spool."""

    position: int
    time: int
    """Nanoseconds since 1970."""
    kind: int
    data: bytes

    @property
    def end(self) -> int:
        """The position after it."""
        return self.position + HEAD.size + len(self.data)


class SegmentFile(NamedTuple):
    """A segment of a spool."""

    base: int
    """Position at which it begins."""
    place: str
    """Its path or URL."""
    size: int


class SegmentRange(NamedTuple):
    """Part of a segment, from one record to another, which one task reads."""

    place: str
    """Path or URL of the segment."""
    start: int
    """Position of the first byte."""
    end: int
    base: int
    """Position at which the segment begins."""


class SpoolFacts(NamedTuple):
    """The identity of a spool and its session, in the file facts.json."""

    id: str
    client_id: str
    filters: tuple[str, ...] = ()
    """The Topic Filters that the session is subscribed to."""


# reading


def segments(place: str | Path) -> list[SegmentFile]:
    """Return the segments of a spool by its path or URL, in order."""
    folder = StorageFolder(place)
    found = [(name.removesuffix(SUFFIX), name, size) for name, size in folder.files().items() if name.endswith(SUFFIX)]
    return sorted(SegmentFile(int(base), folder.place(name), size) for base, name, size in found if base.isdecimal())


def segment_ranges(folder: str | Path, start: int, end: int, size: int = SEGMENT) -> list[SegmentRange]:
    """Return the parts between two positions, cut at segments and at about every `size` bytes."""
    found = segments(folder)
    if start < end and (not found or found[0].base > start):
        raise SpoolError(f"the spool '{folder}' no longer holds position {start}: another query has trimmed it")
    parted: list[SegmentRange] = []
    for each, following in zip(found, [*(each.base for each in found[1:]), end], strict=True):
        low, high = max(each.base, start), min(following, end)
        if low < high:
            parted += _cut(SegmentRange(each.place, low, high, each.base), size)
    return parted


def _cut(whole: SegmentRange, size: int) -> Iterator[SegmentRange]:
    start = whole.start
    if whole.end - start > size:
        for position, length in _heads(whole):
            if position + length - start >= size:
                yield whole._replace(start=start, end=position + length)
                start = position + length
    if start < whole.end:
        yield whole._replace(start=start)


def _heads(stretch: SegmentRange) -> Iterator[tuple[int, int]]:
    """Yield positions and lengths of records, without reading their data."""
    with open_file(stretch.place) as file:
        position = stretch.start
        while position < stretch.end:
            file.seek(position - stretch.base)
            head = file.read(HEAD.size)
            if len(head) < HEAD.size:
                return
            length = HEAD.size + HEAD.unpack(head)[0]
            yield position, length
            position += length


def spool_records(stretch: SegmentRange, chunk: int = CHUNK) -> Iterator[SpoolRecord]:
    """Yield the records of a part; raises SpoolError at a broken one."""
    with open_file(stretch.place) as file:
        file.seek(stretch.start - stretch.base)
        last = stretch.start
        for record in _whole(file, stretch.start, stretch.end - stretch.start, chunk):
            last = record.end
            yield record
    if last != stretch.end:
        raise SpoolError(f"the spool is broken at position {last}, in '{stretch.place}'")


def _whole(file: BinaryIO, position: int, most: int, chunk: int = CHUNK) -> Iterator[SpoolRecord]:
    """Yield records up to the first incomplete or broken one."""
    buffer, at, left = b"", 0, most
    while True:
        while len(buffer) - at >= HEAD.size:
            length, checksum, stamp, kind = HEAD.unpack_from(buffer, at)
            if len(buffer) - at - HEAD.size < length:
                break
            data = buffer[at + HEAD.size : at + HEAD.size + length]
            if zlib.crc32(data, zlib.crc32(_CHECKED.pack(stamp, kind))) != checksum:
                return
            record = SpoolRecord(position, stamp, kind, data)
            at, position = at + HEAD.size + length, record.end
            yield record
        wanted = min(left, chunk)
        more = file.read(wanted) if wanted else b""
        if not more:
            return
        left -= len(more)
        buffer, at = buffer[at:] + more, 0


def ahead(folder: str | Path, start: int, end: int, *, rows: int | None = None, size: int | None = None) -> int:
    """Return the position after the next `rows` messages or `size` bytes, at least one message, at most `end`.

    Where no message is, it is `start`: other records alone, such as that of a session, are not worth a batch.
    """
    count = 0
    for stretch in segment_ranges(folder, start, end):
        for record in spool_records(stretch):
            count += record.kind == MESSAGE
            if count and (count == rows or (size is not None and record.end - start >= size)):
                return record.end
    return end if count else start


def trim(folder: str | Path, position: int) -> None:
    """Remove the segments that end at or before a position, except the last one."""
    gone = [each.place for each, following in pairwise(segments(folder)) if following.base <= position]
    StorageFolder(folder).remove(map(os.path.basename, gone))


# writing


def opened(folder: str, **settings: Any) -> "Spool":
    """Return the writer of a spool by its path or URL, with the settings of Spool."""
    return (Spool if StorageFolder(folder).is_local else StoredSpool)(folder, **settings)


class Spool:
    """The writer of a spool; there is one at a time.

    `wait` is the time in seconds to wait for another writer to end. With `fsync` messages survive a crash
    of the machine, too, not only of the program. Raises SpoolError and OSError.
    """

    def __init__(
        self, folder: str, *, window: int, fsync: bool = False, segment: int = SEGMENT, client_id: str = "",
        wait: float = 10.0,
    ) -> None:  # fmt: skip
        self.folder = StorageFolder(folder)
        self.deliveries = Deliveries(window)
        self._fsync = fsync
        self._segment = segment
        self._waiting: list[bytes] = []
        self._waits = 0
        with ExitStack() as stack:
            self._keep_out(stack, wait)
            self.facts = _facts(self.folder, client_id)
            self._recover()
            self._held = stack.pop_all()

    def _keep_out(self, stack: ExitStack, wait: float) -> None:
        """Keep other writers out until `stack` is closed."""
        os.makedirs(self.folder.name, exist_ok=True)
        stack.enter_context(_locked(Path(self.folder.place("lock")), wait))

    def _recover(self) -> None:
        for each in reversed(segments(self.folder.name)):
            end = self._replayed(each)
            if end is not None:
                self._continue(each, end)
                return
            # The program died before the first record was written, so nothing in it was acknowledged.
            self.folder.remove([os.path.basename(each.place)])
        self.position = 0
        self._begin_segment()

    def _continue(self, last: SegmentFile, end: int) -> None:
        """Write after the complete records of the last segment."""
        self._base, self.position = last.base, end
        self._file = open(last.place, "r+b", buffering=0)  # noqa: SIM115
        self._file.truncate(end - last.base)
        self._file.seek(end - last.base)

    def _replayed(self, segment: SegmentFile) -> int | None:
        """Restore the deliveries from a segment, and return where its complete records end; None without any."""
        position = None
        with open_file(segment.place) as file:
            for record in _whole(file, segment.base, segment.size):
                if (record.kind == STATE) != (record.position == segment.base):
                    break
                position = record.end
                self._replay(record)
        return position

    def _replay(self, record: SpoolRecord) -> None:
        if record.kind == STATE:
            self.deliveries.unpack(record.data)
        elif record.kind == RELEASE:
            self.deliveries.release(*_IDENTIFIER.unpack(record.data))
        elif record.kind == SESSION:
            self.deliveries.connected(False)
        elif message := message_key(record.data):
            self.deliveries.take(message)

    def _begin_segment(self) -> None:
        self._base = self.position
        self._file = open(self.folder.place(_name(self._base)), "w+b", buffering=0)  # noqa: SIM115
        self.append(STATE, time.time_ns(), self.deliveries.pack())
        self._write()
        if self._fsync:
            _sync(self.folder.name)

    @property
    def first(self) -> int:
        """The oldest position in the spool."""
        found = segments(self.folder.name)
        return found[0].base if found else self.position

    def append(self, kind: int, stamp: int, data: bytes) -> None:
        """Add a record, which readers see after the next flush."""
        self._waiting += (_head(kind, stamp, data), data)
        self._waits += HEAD.size + len(data)

    def message(self, stamp: int, data: bytes) -> bool:
        """Add a PUBLISH of MQTT 5.0; return whether it was new."""
        message = message_key(data)
        if message:
            known = self.deliveries.known(message)
            self.deliveries.take(message)
            if known:
                return False
        self.append(MESSAGE, stamp, data)
        return True

    def release(self, stamp: int, packet_id: int) -> bool:
        """Add the PUBREL of a QoS 2 message; return whether there was such a message."""
        known = self.deliveries.release(packet_id)
        if known:
            self.append(RELEASE, stamp, _IDENTIFIER.pack(packet_id))
        return known

    def connected(self, session_present: bool) -> None:
        """Begin a new connection."""
        self.deliveries.connected(session_present)
        if not session_present:
            self.append(SESSION, time.time_ns(), b"")
            self.flush()

    def flush(self) -> None:
        """Write the added records; only then may their messages be acknowledged."""
        if not self._waiting:
            return
        self._write()
        if self.position - self._base >= self._segment:
            self._file.close()
            self._begin_segment()

    def _write(self) -> None:
        """Write what waits; raises OSError, and then all of it still waits."""
        # If the disk is full, a partial record stays after `position` and is overwritten later.
        self._file.seek(self.position - self._base)
        left = memoryview(b"".join(self._waiting))
        while left:
            left = left[self._file.write(left) :]
        if self._fsync:
            os.fsync(self._file.fileno())
        self.position += self._waits
        self._waiting.clear()
        self._waits = 0

    def remember(self, filters: Iterable[str]) -> None:
        """Save the Topic Filters that the session is subscribed to."""
        self.facts = self.facts._replace(filters=tuple(filters))
        _write_facts(self.folder, self.facts)

    def close(self) -> None:
        """Close the files and release the lock."""
        self._file.close()
        self._held.close()


class StoredSpool(Spool):
    """The writer of a spool on an object store."""

    def _keep_out(self, stack: ExitStack, wait: float) -> None:
        from ..storage.lock import DEAD_S, FolderLocked, locked

        until = time.monotonic() + max(wait, 2 * DEAD_S) * bool(wait)
        while True:
            try:
                stack.enter_context(locked(self.folder, secrets.token_hex(6)))
            except FolderLocked as error:
                if time.monotonic() > until:
                    raise SpoolError(f"another query is using the spool '{self.folder}': {error}") from None
                time.sleep(1)
            else:
                return

    def _continue(self, last: SegmentFile, end: int) -> None:
        self.position = end
        self._begin_segment()

    def _begin_segment(self) -> None:
        self._state = self.deliveries.pack()

    def flush(self) -> None:
        """Write the added records; only then may their messages be acknowledged."""
        if not self._waiting:
            return
        self._write()
        self._begin_segment()

    def _write(self) -> None:
        data = b"".join((_head(STATE, time.time_ns(), self._state), self._state, *self._waiting))
        try:
            self.folder.swap(_name(self.position), data, None)
        except ObjectChanged:
            raise SpoolError(f"another query has taken over the spool '{self.folder}'") from None
        self.position += len(data)
        self._waiting.clear()

    def close(self) -> None:
        """Release the lock."""
        self._held.close()


def _name(base: int) -> str:
    return f"{base:020}{SUFFIX}"


def _head(kind: int, stamp: int, data: bytes) -> bytes:
    return HEAD.pack(len(data), zlib.crc32(data, zlib.crc32(_CHECKED.pack(stamp, kind))), stamp, kind)


def _sync(folder: str) -> None:
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _facts(folder: StorageFolder, client_id: str) -> SpoolFacts:
    """Read the facts of a spool, or make them; raises SpoolError for another client's session."""
    found = folder.stored(FACTS)
    if found is None:
        made = SpoolFacts(secrets.token_hex(8), client_id or f"mqttpub-{secrets.token_hex(6)}")
        _write_facts(folder, made)
        return made
    try:
        read: dict[str, Any] = json.loads(found.data)
        facts = SpoolFacts(read["id"], read["client_id"], tuple(read["filters"]))
    except (ValueError, KeyError, TypeError):
        raise SpoolError(f"'{folder.place(FACTS)}' is broken; it names the spool and its session") from None
    if client_id and facts.client_id != client_id:
        raise SpoolError(
            f"the spool '{folder}' belongs to the session of client_id '{facts.client_id}', not '{client_id}'"
        )
    return facts


def _write_facts(folder: StorageFolder, facts: SpoolFacts) -> None:
    folder.replace(FACTS, json.dumps(facts._asdict()).encode())


def _locked(path: Path, wait: float) -> BinaryIO:
    """Return an open, locked file; the lock ends with the process, however that ends. Raises SpoolError."""
    file = open(path, "a+b")  # noqa: SIM115
    until = time.monotonic() + wait
    while True:
        try:
            lock(file)
        except (BlockingIOError, PermissionError):
            if time.monotonic() > until:
                file.close()
                raise SpoolError(f"another query is using the spool '{path.parent}'") from None
            time.sleep(0.05)
        else:
            return file

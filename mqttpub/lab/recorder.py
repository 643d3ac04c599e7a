"""The bytes of each connection as a pcapng file, written as they pass."""

import itertools
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .. import __version__
from ..codec.frame_runs import take_runs
from ..codec.stream import ConnectionStreams, LostSync
from ..common.errors import UserError
from ..common.escape import escape
from ..common.files import PCAPNG, check_place
from ..common.system import BINARY, keep_private
from ..live.net.dial import Route
from ..live.shield import SHIELD
from ..spec.packets import WITH_SECRETS
from ..spec.versions import Direction, Version
from ..view.export.pcapng import PcapngWriter, seconds
from ..view.packet.masking import may_hold_secret, without_secrets

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY


class CaptureRecorder:
    """One capture file, or one after another, for all connections of a run.

    Each record is written at once and whole, so that a run that is killed leaves a capture of all that passed. Where
    a file cannot be written any more, `say` is called with one sentence, and the run continues without it.
    """

    def __init__(
        self, path: str, *, masks: bool = False, file_bytes: int = 0, say: Callable[[str], object] = lambda text: None
    ) -> None:
        """Open the file; raises OSError. `file_bytes` is the size at which another one is begun, 0 for none."""
        self.masks = masks
        self.failed = False
        """Whether a record could not be written."""
        self._path = self._first = path
        self._file_bytes = file_bytes
        self._files = itertools.count(2)
        self._numbers = itertools.count(1)
        self._open: dict[int, Route] = {}
        """The connections that are open, by their numbers."""
        self._descriptor = -1
        self._written_bytes = 0
        self._say = say
        self._begin(path)

    def connection(self, version: Version, label: str = "") -> "ConnectionRecorder":
        """Return what records one connection at a time; `label` names it in a comment."""
        return ConnectionRecorder(self, version, label)

    def opened(self, route: Route, time_s: float, label: str = "") -> int:
        """Begin a connection and return its number; 0 where nothing is recorded any more."""
        if self.failed:
            return 0
        number = next(self._numbers)
        self._open[number] = route
        notes = [*([f"connection {label}"] if label else []), *route.layers]
        with self._recording():
            self._writer.opened(number, route.client, route.server, seconds(time_s), comments=map(escape, notes))
        return number

    def packet(self, number: int, direction: Direction, data: bytes, time_s: float) -> None:
        """Write bytes of an open connection."""
        if self.failed or number not in self._open:
            return
        with self._recording():
            if self._file_bytes and self._written_bytes >= self._file_bytes:
                self._rotate(time_s)
            self._writer.packet(number, direction, data, seconds(time_s))

    def closed(self, number: int, direction: Direction | None, how: str, time_s: float) -> None:
        """End a connection as one of its ends did; None is the end of the recording."""
        if self.failed or number not in self._open:
            return
        with self._recording():
            self._writer.closed(number, direction, how, seconds(time_s))
        if not self._writer.is_open(number):
            del self._open[number]

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    # the file

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Keep signals from parting a record; where the file cannot be written, end it and say so, once."""
        with SHIELD:
            try:
                yield
            except (OSError, UserError) as error:
                self.failed = True
                # The part of a block would make a reader complain.
                with suppress(OSError):
                    os.ftruncate(self._descriptor, self._written_bytes)
                why = getattr(error, "strerror", None) or str(error)
                self._say(f"the capture '{self._path}' ends here, because it cannot be written: {why}")

    def _begin(self, path: str) -> None:
        """Begin a file; raises OSError."""
        self._descriptor = os.open(path, _FLAGS, 0o600)
        if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            # The file may be one that others could read.
            keep_private(self._descriptor)
        self._path, self._written_bytes = path, 0
        self._writer = PcapngWriter(self._put, f"mqttpub {__version__}")

    def _rotate(self, time_s: float) -> None:
        """Continue in another file, in which the open connections are captured from their middle."""
        self.close()
        stem, suffix = os.path.splitext(self._first)
        path = f"{stem}-{next(self._files)}{suffix}"
        check_place("--capture", path, PCAPNG, ())
        self._begin(path)
        for number, route in self._open.items():
            self._writer.opened(number, route.client, route.server, seconds(time_s), handshake=False)

    def _put(self, data: bytes) -> None:
        """Write blocks with one call of the system, unless the system takes only a part; raises OSError."""
        left = memoryview(data)
        while left:
            left = left[os.write(self._descriptor, left) :]
        self._written_bytes += len(data)


class ConnectionRecorder:
    """Observes the bytes of one connection at a time: each `connected` begins another."""

    def __init__(self, recorder: CaptureRecorder, version: Version, label: str = "") -> None:
        self._recorder = recorder
        self._version = version
        self._label = label
        self._number = 0
        self._streams: ConnectionStreams | None = None

    def connected(self, route: Route) -> None:
        """Begin a connection; that before it has ended, even if its end was not seen."""
        now = time.time()
        self._recorder.closed(self._number, None, "end", now)
        self._number = self._recorder.opened(route, now, self._label)
        self._streams = ConnectionStreams(self._version) if self._recorder.masks else None

    def passed(self, now: float, direction: Direction, data: bytes) -> None:
        """Write bytes of one end."""
        if self._streams:
            data = self._masked(self._streams, direction, data)
        if data:
            self._recorder.packet(self._number, direction, data, now)

    def closed(self, now: float, direction: Direction, how: str) -> None:
        """Write the end by one of the ends."""
        stream = self._streams.streams[direction] if self._streams else None
        if stream and not stream.lost and (rest := stream.pending):
            self._recorder.packet(self._number, direction, _without_secrets_of_part(rest), now)
        self._recorder.closed(self._number, direction, how, now)

    def over(self) -> None:
        """End the connection, if neither end has."""
        self._recorder.closed(self._number, None, "end", time.time())

    def _masked(self, streams: ConnectionStreams, direction: Direction, data: bytes) -> bytes:
        """Return the packets that bytes complete, without their secrets; what is not whole waits for its rest."""
        stream = streams.streams[direction]
        if stream.lost or (direction is Direction.CLIENT and stream.pending):
            # What is forged may leave a packet unfinished, and the one after it would be taken for its rest.
            data = _without_secrets_of_part(data)
        if stream.lost:
            return data
        # Runs are of PUBLISH and its acknowledgements, which hold a secret only against the rules.
        rest = data if may_hold_secret(data) else take_runs(stream, direction, data)[1]
        whole = [data[: len(data) - len(rest)]]
        if not rest:
            return data
        try:
            whole.extend(
                without_secrets(frame.data, frame.version or self._version, frame.direction)
                for frame in streams.feed(direction, rest)
            )
        except LostSync:
            whole.append(_without_secrets_of_part(stream.pending))
        return b"".join(whole)


def _without_secrets_of_part(data: bytes) -> bytes:
    """Return bytes that are not a whole packet, all but the first as asterisks if they may hold a secret."""
    return data[:1] + b"*" * (len(data) - 1) if data[:1] and data[0] >> 4 in WITH_SECRETS else data

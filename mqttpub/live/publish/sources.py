"""Where the messages of a Publisher come from: a list, repeats, standard input, or a benchmark."""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...codec.publish_writer import PublishWriter
from ...common.errors import UserError
from ...common.standard_input import is_pipe
from ...common.system import waitable
from .sender import Publication

if TYPE_CHECKING:
    from .outbox import Outbox

ROUNDING = 1e-3
"""Fraction of a message that may be missing: a clock value of many days has few digits left for microseconds."""

Parse = Callable[[bytes], tuple[list[Publication], int]]
"""Turns bytes into messages and the offset after the last; it is called without bytes at the end."""


class PayloadBatch(NamedTuple):
    """QoS 0 messages that differ in their payload only and are written at once, without an outcome each."""

    writer: PublishWriter
    payloads: list[bytes]


class MessageSource(Protocol):
    """Where messages come from; the bodies here are those of a source whose messages are all available at once."""

    @property
    def ended(self) -> bool:
        """Whether all messages were taken and no more will come."""

    @property
    def has_batches(self) -> bool:
        """Whether messages come from `batch` instead of `take`."""
        return False

    @property
    def size_bytes(self) -> int | None:
        """Length of the input, where it can be known."""
        return None

    @property
    def position_bytes(self) -> int:
        """Bytes of the input read so far."""
        return 0

    @property
    def descriptor(self) -> int | None:
        """A descriptor to wait for when `take` has nothing; None when waiting is never needed."""
        return None

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return up to `most` messages that are available at a moment of the monotonic clock."""

    def batch(self) -> PayloadBatch | None:
        """Return the messages of one read, if there are any."""
        return None

    def read(self) -> None:
        """Read more; called when the descriptor can be read."""
        return

    def pause_s(self, now_s: float) -> float:
        """Return the seconds to wait before more may be taken, 0 for none."""
        return 0.0


class Listed(MessageSource):
    """The messages of an iterable, which is read at most one message ahead."""

    def __init__(self, messages: Iterable[Publication]) -> None:
        self._rest = iter(messages)
        self._next: list[Publication] = []

    @property
    def ended(self) -> bool:
        """Whether all were taken."""
        if not self._next:
            self._next = list(islice(self._rest, 1))
        return not self._next

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return the next messages."""
        taken, self._next = self._next[:most], self._next[most:]
        return taken + list(islice(self._rest, most - len(taken)))


class Generated(MessageSource):
    """A source of equal messages: a number of them, or for some seconds, at most `rate` per second.

    With `payloads`, which do not end, each message takes the next of them.
    """

    def __init__(
        self, message: Publication, count: int | None, duration_s: float | None, rate: float | None,
        payloads: Iterator[bytes] | None = None,
    ) -> None:  # fmt: skip
        self.message, self._count, self._duration_s, self._rate = message, count, duration_s, rate
        self.payloads = payloads
        self._began_s: float | None = None
        self._taken = 0
        self._stopped = False

    def stop(self) -> None:
        """Return no more messages from now on."""
        self._stopped = True

    @property
    def ended(self) -> bool:
        """Whether the last message was taken, the time is over, or somebody stopped it."""
        if self._stopped:
            return True
        if self._duration_s is not None:
            return self._began_s is not None and time.monotonic() >= self._began_s + self._duration_s
        return self._taken >= (self._count or 0)

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return as many messages as the count and the rate allow."""
        if self._began_s is None:
            self._began_s = now_s
        allowed = most if self._count is None else min(most, self._count - self._taken)
        if self._rate is not None:
            allowed = min(allowed, int((now_s - self._began_s) * self._rate) + 1 - self._taken)
        allowed = max(allowed, 0)
        self._taken += allowed
        if self.payloads:
            return [self.message._replace(payload=payload) for payload in islice(self.payloads, allowed)]
        return [self.message] * allowed

    def pause_s(self, now_s: float) -> float:
        """Return the seconds until the rate allows the next message."""
        if self._rate is None or self._began_s is None:
            return 0.0
        return max(self._began_s + self._taken / self._rate - now_s, 0.0)


class Repeated(MessageSource):
    """Messages in rounds, each made when it is due, with a pause between the rounds."""

    def __init__(self, make_round: Callable[[], Sequence[Publication]], count: int, delay_s: float) -> None:
        self._make_round = make_round
        self._round: deque[Publication] = deque()
        self._left = count
        self._delay_s = delay_s
        self._due_s = 0.0

    @property
    def ended(self) -> bool:
        """Whether all rounds were taken."""
        return not self._left and not self._round

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return the messages of the rounds that are due."""
        taken: list[Publication] = []
        # A round may be empty, so their number is bounded too.
        for _ in range(most):
            if self.ended or now_s < self._due_s:
                break
            if not self._round:
                self._round.extend(self._make_round())
                self._left -= 1
            if self._round:
                taken.append(self._round.popleft())
            if not self._round:
                self._due_s = now_s + self._delay_s
        return taken

    def pause_s(self, now_s: float) -> float:
        """Return the seconds until the next round."""
        return max(self._due_s - now_s, 0.0)


class Streamed(MessageSource):
    """Messages from a descriptor, read as they are sent, so that memory stays small.

    `earlier` are messages that an outbox kept, which are sent first. With an outbox, what is read is
    kept before any of it is sent, and a file is read from where an earlier run stopped; `start` bytes are read already.
    """

    chunk_bytes = 1 << 16
    """Bytes that are read at a time."""
    size_bytes: int | None = None
    position_bytes = 0

    def __init__(
        self, descriptor: int, parse: Parse, *, outbox: "Outbox | None" = None, earlier: Iterable[Publication] = (),
        start: int = 0,
    ) -> None:  # fmt: skip
        self._parse = parse
        self._outbox = outbox
        self._earlier = Listed(earlier)
        self._ready: deque[Publication] = deque()
        self._over = False
        status = os.fstat(descriptor)
        self._name = f"{status.st_dev}:{status.st_ino}"
        # What is neither a pipe, a socket nor a terminal, such as /dev/null, can always be read.
        self._file = not (is_pipe(descriptor) or os.isatty(descriptor))
        if stat.S_ISREG(status.st_mode):
            self.size_bytes = status.st_size
        self._fd = descriptor
        self._next: Callable[[int], bytes] = partial(os.read, descriptor)
        if not self._file:
            self._fd, self._next = waitable(descriptor)
        self._start = self.position_bytes = start
        if self._file and outbox and (place := outbox.place(self._name)):
            self._start = self.position_bytes = os.lseek(descriptor, min(place, status.st_size), os.SEEK_SET)

    @property
    def ended(self) -> bool:
        """Whether the input ended and all of it was taken."""
        return self._over and not self._ready and self._earlier.ended

    @property
    def descriptor(self) -> int | None:
        """The descriptor to wait for; None for a file, which can always be read."""
        return None if self._file or self._over else self._fd

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return messages that are there; a file is read for them."""
        taken = [] if self._earlier.ended else self._earlier.take(most, now_s)
        wanted, ready = most - len(taken), self._ready
        while self._file and not self._over and len(ready) < wanted:
            self.read()
        taken += [ready.popleft() for _ in range(min(wanted, len(ready)))]
        return taken

    def read(self) -> None:
        """Read once; raises UserError where the input cannot be read, which is not a failure of an output."""
        try:
            chunk = self._next(self.chunk_bytes)
        except OSError as error:
            raise UserError(f"the input cannot be read: {error.strerror}") from error
        self._over = not chunk
        self.position_bytes += len(chunk)
        self._add(chunk)

    def _add(self, chunk: bytes) -> None:
        messages, place = self._parse(chunk)
        if self._outbox and messages:
            messages = self._outbox.add(messages, (self._name, self._start + place) if self._file else None)
        self._ready.extend(messages)


class Batched(Streamed):
    """QoS 0 messages from a descriptor, sent in batches because nobody needs the outcome of each."""

    chunk_bytes = 1 << 18
    has_batches = True

    def __init__(self, descriptor: int, parse: Callable[[bytes], PayloadBatch]) -> None:
        super().__init__(descriptor, lambda chunk: ([], 0))
        self._parse_batch = parse
        self._batches: deque[PayloadBatch] = deque()

    @property
    def ended(self) -> bool:
        """Whether the input ended and all of it was taken."""
        return self._over and not self._batches

    def _add(self, chunk: bytes) -> None:
        self._batches.append(self._parse_batch(chunk))

    def batch(self) -> PayloadBatch | None:
        """Return the messages of one read, if there are any."""
        if self._file and not self._over and not self._batches:
            self.read()
        return self._batches.popleft() if self._batches else None


class Rate:
    """A token bucket: a maximum number of messages per second; a long pause is not made up for in one burst."""

    BURST = 0.1
    """Seconds' worth of messages that may be sent at once."""

    def __init__(self, per_second: float) -> None:
        if not 0 < per_second < float("inf"):
            raise ValueError(f"{per_second:g} messages per second: the rate must be above 0")
        self.per_second = per_second
        self._most = max(1.0, per_second * self.BURST)
        self._tokens = 1.0
        self._last_s: float | None = None

    def ready(self, now_s: float) -> int:
        """Return how many messages may go now."""
        passed_s = 0.0 if self._last_s is None else max(now_s - self._last_s, 0.0)
        self._last_s = now_s
        self._tokens = min(self._tokens + passed_s * self.per_second, self._most)
        return int(self._tokens + ROUNDING)

    def spend(self, count: int) -> None:
        """Note that messages were sent."""
        self._tokens -= count

    def wait_s(self, now_s: float) -> float:
        """Return the seconds until the next message may go."""
        return 0.0 if self.ready(now_s) else (1.0 - self._tokens) / self.per_second


class ChangedSource(MessageSource):
    """Another source, changed: this base passes everything on as it is."""

    def __init__(self, source: MessageSource) -> None:
        self._source = source

    @property
    def ended(self) -> bool:
        """Whether the source ended."""
        return self._source.ended

    @property
    def has_batches(self) -> bool:
        """Whether the source has batches."""
        return self._source.has_batches

    @property
    def size_bytes(self) -> int | None:
        """The length of the source."""
        return self._source.size_bytes

    @property
    def position_bytes(self) -> int:
        """Bytes of the source read so far."""
        return self._source.position_bytes

    @property
    def descriptor(self) -> int | None:
        """The descriptor of the source."""
        return self._source.descriptor

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return what the source has."""
        return self._source.take(most, now_s)

    def batch(self) -> PayloadBatch | None:
        """Return a batch of the source."""
        return self._source.batch()

    def read(self) -> None:
        """Let the source read more."""
        self._source.read()

    def pause_s(self, now_s: float) -> float:
        """Return the pause of the source."""
        return self._source.pause_s(now_s)


class Limited(ChangedSource):
    """Another source, which has no batches, limited to a rate."""

    def __init__(self, source: MessageSource, rate: Rate) -> None:
        super().__init__(source)
        self._rate = rate

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return what the source has, within the rate."""
        allowed = min(most, self._rate.ready(now_s))
        taken = self._source.take(allowed, now_s) if allowed > 0 else []
        self._rate.spend(len(taken))
        return taken

    def pause_s(self, now_s: float) -> float:
        """Return the longer pause of the source's and the rate's."""
        return max(self._source.pause_s(now_s), self._rate.wait_s(now_s))

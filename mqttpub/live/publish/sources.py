"""Where a Publisher's messages come from: repeats of the command line's, or standard input."""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .flows import Message
from .publisher import Ahead, Batch

if TYPE_CHECKING:
    from .outbox import Outbox

CHUNK = 1 << 16
"""Bytes that are read at a time."""

LARGE_CHUNK = 1 << 18

Parse = Callable[[bytes], tuple[list[Message], int]]
"""Turns bytes into messages and the offset behind the last; it is called with nothing at the end."""


class Repeated:
    """The same messages again and again, with a pause between the rounds."""

    descriptor = None

    def __init__(self, messages: Sequence[Message], count: int, delay: float) -> None:
        self._messages = messages
        self._left = count * len(messages)
        self._delay = delay
        self._due = 0.0
        self._number = 0

    @property
    def ended(self) -> bool:
        """Whether all rounds were taken."""
        return self._left == 0

    def take(self, most: int, now: float) -> list[Message]:
        """Return the messages of the rounds that are due."""
        taken: list[Message] = []
        while self._left and len(taken) < most and now >= self._due:
            at = self._number % len(self._messages)
            self._number += 1
            self._left -= 1
            taken.append(self._messages[at]._replace(token=self._number))
            if at == len(self._messages) - 1:
                self._due = now + self._delay
        return taken

    def read(self) -> None:
        """Do nothing: all is there."""

    def pause(self, now: float) -> float:
        """Return the seconds until the next round."""
        return max(self._due - now, 0.0)


class Streamed:
    """Messages from a descriptor, read as they are sent, so that memory stays small.

    `earlier` are messages that an outbox kept, which go first. With an outbox, what is read is
    kept before any of it is sent, and reading a file goes on where an earlier run ended.
    """

    def __init__(
        self, descriptor: int, parse: Parse, *, outbox: "Outbox | None" = None, earlier: Iterable[Message] = (),
    ) -> None:  # fmt: skip
        self._fd = descriptor
        self._parse = parse
        self._outbox = outbox
        self._earlier = Ahead(earlier)
        self._ready: deque[Message] = deque()
        self._over = False
        status = os.fstat(descriptor)
        self._name = f"{status.st_dev}:{status.st_ino}"
        mode = status.st_mode
        # What is neither a pipe, a socket nor a terminal, such as /dev/null, can always be read.
        self._file = not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor))
        self.size: int | None = status.st_size if stat.S_ISREG(mode) else None
        """Bytes of the input, where that can be known."""
        self._start = 0
        self.position = 0
        """Bytes of the input read so far."""
        if self._file and outbox and (place := outbox.place(self._name)):
            self._start = self.position = os.lseek(descriptor, min(place, status.st_size), os.SEEK_SET)

    @property
    def ended(self) -> bool:
        """Whether the input ended and all of it was taken."""
        return self._over and not self._ready and not self._earlier

    @property
    def descriptor(self) -> int | None:
        """The descriptor to wait for; None for a file, which can always be read."""
        return None if self._file or self._over else self._fd

    def take(self, most: int, now: float) -> list[Message]:
        """Return messages that are there; a file is read for them."""
        taken = self._earlier.take(most)
        wanted = most - len(taken)
        while self._file and not self._over and len(self._ready) < wanted:
            self.read()
        ready = self._ready
        taken += [ready.popleft() for _ in range(min(wanted, len(ready)))]
        return taken

    def read(self) -> None:
        """Read once."""
        chunk = os.read(self._fd, CHUNK)
        self._over = not chunk
        self.position += len(chunk)
        messages, place = self._parse(chunk)
        if self._outbox and messages:
            messages = self._outbox.add(messages, (self._name, self._start + place) if self._file else None)
        self._ready.extend(messages)

    def pause(self, now: float) -> float:
        """Never wait: the input says when there is more."""
        return 0.0


class Batched(Streamed):
    """The same, for QoS 0 messages that nobody asks about one by one: they go in batches."""

    def __init__(self, descriptor: int, lines: Any) -> None:
        super().__init__(descriptor, lines)
        self._lines = lines
        self._batches: deque[Batch] = deque()

    @property
    def ended(self) -> bool:
        """Whether the input ended and all of it was taken."""
        return self._over and not self._batches

    def read(self) -> None:
        """Read once."""
        chunk = os.read(self._fd, LARGE_CHUNK)
        self._over = not chunk
        self.position += len(chunk)
        self._batches.append(self._lines.batch(chunk))

    def batch(self) -> Batch | None:
        """Return the messages of one read, if there are any."""
        if self._file and not self._over and not self._batches:
            self.read()
        return self._batches.popleft() if self._batches else None


class Limited:
    """A source that gives no more than a rate allows."""

    def __init__(self, source: Any, rate: Any) -> None:
        self._source = source
        self._rate = rate

    @property
    def ended(self) -> bool:
        """Whether the source ended."""
        return bool(self._source.ended)

    @property
    def descriptor(self) -> int | None:
        """The descriptor of the source."""
        descriptor: int | None = self._source.descriptor
        return descriptor

    def take(self, most: int, now: float) -> list[Message]:
        """Return what the source has, within the rate."""
        allowed = min(most, self._rate.ready(now))
        taken: list[Message] = self._source.take(allowed, now) if allowed > 0 else []
        self._rate.spend(len(taken))
        return taken

    def read(self) -> None:
        """Let the source read."""
        self._source.read()

    def pause(self, now: float) -> float:
        """Return the longer pause of the source's and the rate's."""
        return max(float(self._source.pause(now)), float(self._rate.wait(now)))

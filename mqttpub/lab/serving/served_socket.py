"""One socket in the loop: bytes in, bytes out, and its end."""

import selectors
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from ...live.failures import PeerFault
from ...live.tap import again
from .ending import broke, end_writing, is_broken, resets
from .timers import Timers

CHUNK = 1 << 16
"""Bytes that one peer may send before the others get their turn; not less than a record of TLS, which is read whole."""
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class SocketUser(Protocol):
    """What is told about a socket."""

    def received(self, data: bytes) -> None:
        """Take the next bytes of the peer."""

    def drained(self) -> None:
        """Note that output which had to wait is written."""

    def ended(self) -> bool:
        """Take the peer's end; return whether the socket stays open for what is still to be written."""

    def gone(self, why: str) -> None:
        """Note that the socket is closed; called once."""


class Loop(Protocol):
    """What a socket needs of the loop that serves it."""

    selector: selectors.BaseSelector
    timers: Timers
    clock: Callable[[], float]
    sockets: dict["ServedSocket", None]


class ServedSocket:
    """A socket, its layers included, that a loop reads from and writes to.

    Whoever uses it appends to `output` and calls `flush`, and pauses reading where what it makes of the bytes piles up:
    the socket itself bounds only what it reads at a time.
    """

    def __init__(self, loop: Loop, sock: Any, user: SocketUser, output: bytearray | None = None) -> None:
        self.loop = loop
        self.sock = sock
        self.user = user
        self.output = bytearray() if output is None else output
        """Bytes that wait to be written."""
        self.ending = False
        """Whether nothing more is written than `output`, and then only the peer's close is awaited."""
        self.paused = False
        self.was_reset = False
        """Whether the peer broke the connection off."""
        self._ended = False
        """Whether the peer has shut down its sending side."""
        self._shutting = False
        """Whether this side is shut down, or will be when the output is written."""
        self._shut = False
        self.events = 0
        """What the loop wakes it for."""
        # TLS may have to write before it can read, and the other way round.
        self._read_on, self._write_on = READ, WRITE
        self._blocked = False
        self._broken = False
        """Whether it cannot be written to any more."""
        sock.setblocking(False)
        loop.sockets[self] = None
        self._listen()

    @property
    def open(self) -> bool:
        """Whether the socket is not closed."""
        return self in self.loop.sockets

    @property
    def _unsent(self) -> bool:
        """Whether a layer has something of its own to send."""
        return getattr(self.sock, "unsent", False)

    def _ready(self, mask: int) -> None:
        """Read and write what the socket allows."""
        if mask & self._write_on and self._blocked:
            self.flush()
        if mask & self._read_on and self.open and not self.paused:
            self._read()

    def _read(self) -> None:
        """Read from the socket; bytes received while it is ending are discarded."""
        data, awaited = None, READ
        try:
            data = self.sock.recv(CHUNK)
        except OSError as error:
            if not again(error):
                self._broke(error)
                return
            awaited = _awaited(error, READ)
        except PeerFault as fault:  # of the layer of a client's WebSocket
            self.close(str(fault))
            return
        if awaited != self._read_on:
            self._read_on = awaited
            self._listen()
        if data == b"":
            self._end()
        elif data and not self.ending:
            self.user.received(data)
        if self._unsent and self.open:
            self.flush()

    def _end(self) -> None:
        """Take the peer's end."""
        self._ended = True
        if not self._shut and is_broken(self.sock):
            self.was_reset = True
            self.close("the peer reset the connection")
        elif self.ending or not self.user.ended() or self._shut:
            self.close("the client closed the connection")
        else:
            self._listen()

    def pause(self) -> None:
        """Read nothing, so that the peer has to wait, until `resume`."""
        self.paused = True
        self._listen()

    def resume(self) -> None:
        """Read again."""
        self.paused = False
        self._listen()

    def _broke(self, error: OSError) -> None:
        self.was_reset = isinstance(error, ConnectionResetError | BrokenPipeError)
        self.close(broke(error))

    def _rest(self) -> None:
        """Read what the peer sent before it broke the connection off, such as why."""
        # Answers to it are not written: each attempt would fail, and come here again from within.
        self._broken = True
        with suppress(OSError, PeerFault):
            while not self.ending and (data := self.sock.recv(CHUNK)):
                self.user.received(data)

    def write(self, data: bytes) -> None:
        """Write bytes after those that wait."""
        self.output += data
        if not self._blocked:
            self.flush()

    def flush(self) -> None:
        """Write what the socket takes; once all is written, shut the sending side down if that is wanted."""
        if self._broken:
            return
        waited, self._blocked, self._write_on = self._blocked, False, WRITE
        try:
            while self.output or self._unsent:
                del self.output[: self.sock.send(self.output)]
        except OSError as error:
            if not again(error):
                self._rest()
                self._broke(error)
                return
            self._blocked, self._write_on = True, _awaited(error, WRITE)
        if self._shutting and not self.output:
            self._half_close()
            self._blocked |= self._unsent
        self._listen()
        if waited and not self._blocked and self.open:
            self.user.drained()

    def shut(self) -> None:
        """Shut the sending side down once the output is written; what the peer sends is still read."""
        self._shutting = True
        self.flush()

    def finish(self, linger_s: float) -> None:
        """End the connection once the output is written; the peer gets some seconds to read it and close."""
        if not self.ending and self.open:
            self.ending, self.paused = True, False
            self.loop.timers.set(self, self.loop.clock() + linger_s, lambda: self.close("closed"))
            self.shut()

    def _half_close(self) -> None:
        """Shut down the sending side; a full close now could discard data that the peer has not read."""
        if self._shut:
            return
        self._shut = True
        try:
            end_writing(self.sock)
        except OSError:
            self.close("closed")
        if self._ended:
            self.close("both ends have closed")

    def _listen(self) -> None:
        """Choose what to be woken for."""
        events = (0 if self.paused or self._ended else self._read_on) | (self._write_on if self._blocked else 0)
        if events == self.events or not self.open:
            return
        selector, before, self.events = self.loop.selector, self.events, events
        if not before:
            selector.register(self.sock, events, self._ready)
        elif not events:
            selector.unregister(self.sock)
        else:
            selector.modify(self.sock, events, self._ready)

    def abort(self, why: str) -> None:
        """Break the connection off, which the peer sees as a reset."""
        if self.open:
            resets(self.sock)
            self.close(why)

    def close(self, why: str) -> None:
        """Close the socket; more than once does nothing."""
        if self.open:
            del self.loop.sockets[self]
            self.loop.timers.cancel(self)
            if self.events:
                self.loop.selector.unregister(self.sock)
            self.sock.close()
            self.user.gone(why)


def _awaited(error: OSError, usual: int) -> int:
    return {"SSLWantReadError": READ, "SSLWantWriteError": WRITE}.get(type(error).__name__, usual)
